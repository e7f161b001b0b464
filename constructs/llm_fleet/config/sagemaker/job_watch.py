"""How one job is watched otherwise than the rest."""

from pydantic import Field

from llm_fleet.config.sagemaker.watch_checkpoints import CheckpointLayoutConfig
from llm_fleet.config.sagemaker.watch_conditions import WatchConditionsConfig
from llm_fleet.config.sagemaker.watch_restart import RestartConfig
from llm_fleet.config.sagemaker.watch_short_schema import or_layout, or_number
from llm_fleet.config.sagemaker.watch_values import Minutes
from llm_fleet.spec.model import FleetModel


class JobWatchConfig(FleetModel):
    """How one training job is watched otherwise than the fleet's `watch` says."""

    restart: RestartConfig | None = Field(default=None, json_schema_extra=or_number)
    """How it is started again. Default: as `watch` says."""
    conditions: WatchConditionsConfig | None = Field(default=None, alias="when")
    """When it runs in vain; `{}` for never. Default: as `watch` says."""
    checkpoints: CheckpointLayoutConfig | None = Field(default=None, json_schema_extra=or_layout)
    """How its checkpoints lie. Default: as `watch` says."""
    grace_minutes: Minutes | None = Field(default=None, alias="grace")
    """How long it trains before a condition is believed. Default: as `watch` says."""
