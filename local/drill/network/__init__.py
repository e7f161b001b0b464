"""The network of one cluster of the drill: apart from the machine's own and from every other cluster's."""
