"""How HyperPod patches a group by itself."""

from dataclasses import dataclass
from datetime import datetime

from llm_fleet.hyperpod.rolling_update import RollingUpdate
from llm_fleet.rules.terms import OnDrainTimeout, PatchingStrategy


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoPatch:
    """How HyperPod puts security patches on a group's nodes by itself (`AutoPatchConfig`).

    The last four fields are the API's, but CloudFormation cannot say them: a construct refuses them with a pointer
    (LF570). They are here so that a fleet file and its construct have one shape.
    """

    strategy: PatchingStrategy
    """`WHEN_IDLE`: each node as it falls idle. `WHEN_ALL_IDLE`: all of them, once all are idle."""
    deployment: RollingUpdate | None = None
    """How it rolls over the group. Default: as the strategy says, without batches or alarms."""
    next_patch_date: datetime | None = None
    """Set by the service; CloudFormation only reads it."""
    idle_wait_window_seconds: int | None = None
    """API only. Default of the service: 86400 seconds."""
    drain_timeout_seconds: int | None = None
    """API only, for `DRAIN_FIRST`, which is for EKS only."""
    on_drain_timeout: OnDrainTimeout | None = None
    """API only, for `DRAIN_FIRST`, which is for EKS only."""
