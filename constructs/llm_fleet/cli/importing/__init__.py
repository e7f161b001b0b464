"""Turns the request of `aws sagemaker create-cluster` into a fleet file."""
