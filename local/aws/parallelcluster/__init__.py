"""A stand-in of AWS ParallelCluster's provider: judges clusters as ParallelCluster does, and boots none."""
