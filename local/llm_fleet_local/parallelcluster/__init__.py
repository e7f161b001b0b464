"""ParallelCluster's own schema and validators, in a separate environment."""
