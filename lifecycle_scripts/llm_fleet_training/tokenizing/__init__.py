"""Tokenizes units of the data set in parallel, and joins their tokens in order in one file."""
