"""How HyperPod patches a group by itself."""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar, Literal

from pydantic import Field

from llm_fleet.config.rolling import RollingConfig
from llm_fleet.rules.terms import OnDrainTimeout, PatchingStrategy
from llm_fleet.spec.model import FleetModel

_API_ONLY = "CloudFormation cannot set it; set it with `aws sagemaker update-cluster` after the deployment"


class AutoPatchConfig(FleetModel):
    """How HyperPod puts security patches on the nodes of a group by itself.

    What the API has beyond this, CloudFormation cannot say, or it is for EKS.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        PatchingStrategy.DRAIN_FIRST: "write `WhenIdle` or `WhenAllIdle`: DrainFirst evicts pods, and is for EKS",
        **dict.fromkeys(
            ("idle_window", "idle_wait_window", "drain_timeout", "on_drain_timeout", "drain_policy", "next_patch_date"),
            _API_ONLY,
        ),
    }

    strategy: Literal[PatchingStrategy.WHEN_IDLE, PatchingStrategy.WHEN_ALL_IDLE] = Field(examples=["WhenIdle"])
    """`WhenIdle` takes each node as it falls idle, `WhenAllIdle` all of them once all are idle."""
    deployment: RollingConfig | None = Field(default=None, alias="rolling")
    """How it rolls over the group. Default: as the strategy says, without batches or alarms."""

    @property
    def next_patch_date(self) -> datetime | None:
        """Left to HyperPod."""
        return None

    @property
    def idle_wait_window_seconds(self) -> int | None:
        """Left to HyperPod: a day."""
        return None

    @property
    def drain_timeout_seconds(self) -> int | None:
        """Of no meaning without draining."""
        return None

    @property
    def on_drain_timeout(self) -> OnDrainTimeout | None:
        """Of no meaning without draining."""
        return None
