"""The network of one cluster of the drill, isolated from the machine's and other clusters' networks."""
