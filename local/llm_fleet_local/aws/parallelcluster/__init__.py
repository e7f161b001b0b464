"""A stand-in for AWS ParallelCluster's provider: validates clusters as ParallelCluster does, and boots none."""
