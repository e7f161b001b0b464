"""Containers on a node: where Docker, containerd and Enroot keep them, and how Slurm starts them."""
