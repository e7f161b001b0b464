"""SageMaker HyperPod clusters that run Slurm."""
