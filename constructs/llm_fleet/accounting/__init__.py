"""Slurm's accounting outside a cluster."""
