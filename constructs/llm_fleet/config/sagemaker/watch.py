"""The watch over training jobs and clusters."""

from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic import Field, model_validator

from llm_fleet.config.sagemaker.watch_checkpoints import CheckpointLayoutConfig
from llm_fleet.config.sagemaker.watch_conditions import WatchConditionsConfig
from llm_fleet.config.sagemaker.watch_restart import RestartConfig
from llm_fleet.config.sagemaker.watch_short_schema import or_layout, or_number
from llm_fleet.config.sagemaker.watch_values import Minutes
from llm_fleet.config.sagemaker.watched_jobs import WatchedJobsConfig
from llm_fleet.spec.model import FleetModel, name_entries
from llm_fleet.spec.values import TopicArn


class WatchConfig(FleetModel):
    """Who starts training jobs again that failed, stops those that run in vain, and tells what happens to clusters."""

    other_words: ClassVar[Mapping[str, str]] = {
        "conditions": "write `when`",
        "alarms": "write `topic`",
        "notify": "write `topic`",
        "retry": "write `restart`",
        "restarts": "write `restart`",
        "jobs": "write `others`; training jobs of the fleet are watched as they are",
    }

    restart: RestartConfig = Field(default=RestartConfig(), json_schema_extra=or_number)
    """How jobs are started again: a number of times, or more about it. Default: three times."""
    conditions: WatchConditionsConfig = Field(default=WatchConditionsConfig(), alias="when")
    """When a job is believed to run in vain. Default: never."""
    checkpoints: CheckpointLayoutConfig = Field(
        default=CheckpointLayoutConfig(layout="any"), json_schema_extra=or_layout
    )
    """How checkpoints lie: `hugging-face`, `neuronx-distributed`, `llm-fleet`, or a pattern. Default: `any`."""
    grace_minutes: Minutes | None = Field(default=None, alias="grace")
    """How long a job trains before a condition is believed. Default: `30 min`."""
    clusters: tuple[str, ...] | None = None
    """HyperPod clusters of the fleet whose events are told. Default: all of them."""
    others: Mapping[str, WatchedJobsConfig] = {}
    """Jobs that notebooks, the SDK or a pipeline start, by a name of yours. Default: none."""
    topic_arn: TopicArn | None = Field(default=None, alias="topic")
    """ARN of the SNS topic that is told. Default: one of its own, to which you subscribe."""

    @model_validator(mode="after")
    def _tell_entries(self) -> Self:
        name_entries(self.others)
        return self
