"""A cluster of AWS ParallelCluster on throwaway nodes: its configuration brought to life."""
