"""LLM infrastructure on AWS as CDK constructs: network, storage, roles and HyperPod Slurm clusters."""
