"""The network of one cluster of the drill, isolated from the machine's network and those of other clusters."""
