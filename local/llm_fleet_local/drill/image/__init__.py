"""The image that nodes start from: laid out like the HyperPod Slurm AMI, built from packages of a distribution."""
