"""How HyperPod patches a group by itself."""

from datetime import datetime

from pydantic import Field

from llm_fleet.config.model import FleetModel
from llm_fleet.config.rolling import RollingConfig
from llm_fleet.config.types import Seconds
from llm_fleet.rules.terms import OnDrainTimeout, PatchingStrategy


class AutoPatchConfig(FleetModel):
    """How HyperPod puts security patches on the nodes of a group by itself."""

    strategy: PatchingStrategy = Field(examples=["WhenIdle"])
    """Which nodes it takes, and when: each as it falls idle, all once all are idle, or after draining."""
    deployment: RollingConfig | None = Field(default=None, alias="rolling")
    """How it rolls over the group. Default: the service's own way."""
    next_patch_date: datetime | None = None
    """The first patch, e.g. `2026-12-01T03:00:00Z`. Default: HyperPod chooses."""
    idle_wait_window_seconds: Seconds | None = Field(default=None, alias="idle_window")
    """How long it waits for nodes to fall idle, 1 h to 25 days. Default: 24 h."""
    drain_timeout_seconds: Seconds | None = Field(default=None, alias="drain_timeout")
    """How long a node may take to drain, at most 90 min. Default: 1 h."""
    on_drain_timeout: OnDrainTimeout | None = None
    """What happens to a node that takes longer. Default: the service's own choice."""
