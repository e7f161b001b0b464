"""Throwaway nodes on one Linux machine that run `lifecycle_scripts/` unmodified, and end in a real Slurm cluster."""
