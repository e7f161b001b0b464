"""The training runtime of a node: programs, environments, settings and the compile cache."""
