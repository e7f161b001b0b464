"""Neuron on the host: driver, packages and their compatibility."""
