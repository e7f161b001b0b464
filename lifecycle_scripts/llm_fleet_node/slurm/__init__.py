"""Slurm on a node: its paths, configuration and daemons, and the diagnosis of failures."""
