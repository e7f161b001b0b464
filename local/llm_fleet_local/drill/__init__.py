"""Throwaway nodes on one Linux machine that run `lifecycle_scripts/` unmodified and form a real Slurm cluster."""
