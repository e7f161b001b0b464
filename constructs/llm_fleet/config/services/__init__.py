"""Inference services in the fleet file."""
