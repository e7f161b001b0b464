"""Plays the model servers and the load balancer of an inference service on this machine. Not in the wheel."""
