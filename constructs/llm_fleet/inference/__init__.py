"""Inference services: a model server on Neuron instances behind a load balancer."""
