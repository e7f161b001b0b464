"""A ParallelCluster in the fleet file."""
