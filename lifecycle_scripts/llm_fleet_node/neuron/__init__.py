"""Neuron on the host: driver, packages, and which go together."""
