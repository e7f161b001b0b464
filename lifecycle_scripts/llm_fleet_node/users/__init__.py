"""The users of a fleet on a node: accounts, home directories, keys, sudo, Slurm accounts, and SSH between nodes."""
