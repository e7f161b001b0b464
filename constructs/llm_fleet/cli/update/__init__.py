"""`llm-fleet update-plan` and `deployed-configuration`: what a deployment would do to a cluster of ParallelCluster."""
