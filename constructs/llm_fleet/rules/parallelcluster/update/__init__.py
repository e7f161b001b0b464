"""What an update does to a cluster of ParallelCluster, told before it is tried."""
