"""Trains a small Llama on the cluster's nodes, with the published batch files."""
