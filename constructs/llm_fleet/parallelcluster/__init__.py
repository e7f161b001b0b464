"""AWS ParallelCluster clusters."""
