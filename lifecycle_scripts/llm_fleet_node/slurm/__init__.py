"""Slurm on a node: where it is, what its configuration says, how its daemons are started, and why they are not."""
