"""Who is told of a fleet's clusters, and from when on."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from llm_fleet.config.monitoring.chat import SlackConfig, TeamsConfig
from llm_fleet.config.monitoring.thresholds import ClusterThresholdsConfig
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import TOPIC_ARN, TopicArn


class ClusterAlarmsConfig(FleetModel):
    """Who is told of clusters, and from when on. An ARN is short for the topic alone."""

    other_words: ClassVar[Mapping[str, str]] = {
        "email": "write `emails`, a list",
        "chat": "write `slack` or `teams`",
        "notify": "write `topic`, `emails`, `slack` or `teams`",
    }

    topic_arn: TopicArn | None = Field(default=None, alias="topic")
    """ARN of the SNS topic that is told. Default: one of its own."""
    emails: tuple[str, ...] = ()
    """Who is told by e-mail; each has to confirm once, by a link in the first mail. Default: nobody."""
    slack: SlackConfig | None = None
    """A channel of Slack that is told. Default: none."""
    teams: TeamsConfig | None = None
    """A channel of Microsoft Teams that is told. Default: none."""
    events: bool = True
    """Whether events of HyperPod clusters are told too, with their reasons: by the fleet's `watch`, or one for that.

    Default: yes.
    """
    thresholds: ClusterThresholdsConfig = ClusterThresholdsConfig()
    """From when on alarms ring."""


def or_topic(schema: dict[str, Any]) -> None:
    """Let the topic alone stand for it, in the eyes of editors; `short_forms` reads it."""
    short = TOPIC_ARN.json_schema()
    if "anyOf" in schema:
        schema["anyOf"] = [*schema["anyOf"], short]
        return
    long = {key: schema.pop(key) for key in ("$ref", "allOf", "oneOf", "discriminator") if key in schema}
    schema["anyOf"] = [long, short]
