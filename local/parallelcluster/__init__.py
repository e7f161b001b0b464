"""ParallelCluster's own schema and validators, in an environment of their own."""
