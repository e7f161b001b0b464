"""Turns a configuration of ParallelCluster into a fleet file."""
