"""The watch over training jobs and HyperPod clusters."""
