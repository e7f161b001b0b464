"""The people of a fleet on a node: accounts, homes, keys, sudo, Slurm accounts, and their way from node to node."""
