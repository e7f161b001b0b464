"""Reads the tokens of `tokenize` in an order that depends only on the seed and the step."""
