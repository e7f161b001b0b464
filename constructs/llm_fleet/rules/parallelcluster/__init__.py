"""Rules of AWS ParallelCluster."""
