"""The steps of a ParallelCluster's nodes."""

from llm_fleet.config.steps import StepsModel


class StepsConfig(StepsModel):
    """Which steps nodes take when they start. Default: those that llm-fleet ships."""
