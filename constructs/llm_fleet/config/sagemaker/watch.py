"""The watch over training jobs and clusters."""

from llm_fleet.config.model import FleetModel


class WatchConfig(FleetModel):
    """Who starts training jobs again that failed, and tells what happens to clusters."""
