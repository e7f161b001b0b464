"""Rules of HyperPod clusters."""
