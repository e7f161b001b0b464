"""Benchmarks of synthesis: `make bench`."""
