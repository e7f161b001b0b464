"""Converts a checkpoint of any backend to a Hugging Face model folder, one weight at a time."""
