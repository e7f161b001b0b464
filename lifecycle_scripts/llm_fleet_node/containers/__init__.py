"""Containers on a node: the data folders of Docker, containerd and Enroot, and Pyxis in Slurm."""
