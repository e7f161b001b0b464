"""How long compiled graphs are kept."""

from pydantic import Field

from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import Days, Gibibytes


class CompileCacheConfig(FleetModel):
    """How long the graphs that Neuron's compiler has made are kept on shared storage, for all jobs."""

    max_age_days: Days = Field(default=30, alias="max_age")
    """How long a graph may lie unused before it is removed. Default: `30 days`."""
    max_gib: Gibibytes | None = Field(default=None, alias="max_size")
    """What all may take together; above it, those that lay unused longest go. Default: no limit."""
