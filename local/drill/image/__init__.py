"""The image that nodes start from: shaped like the HyperPod Slurm AMI, built of a distribution's own packages."""
