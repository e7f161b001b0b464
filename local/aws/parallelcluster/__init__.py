"""A stand-in of AWS ParallelCluster's provider: checks clusters as ParallelCluster does, and boots none."""
