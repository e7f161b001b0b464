"""A cluster of AWS ParallelCluster on throwaway nodes, created from its configuration."""
