"""The watch of a fleet file: beside its description, which clusters it follows and whom it notifies."""

from typing import Annotated

from pydantic import Field

from llm_fleet.spec.values import TopicArn
from llm_fleet.spec.watch import WatchSpec


class WatchConfig(WatchSpec):
    """What starts training jobs again that failed, stops those that run in vain, and reports events of clusters."""

    clusters: tuple[str, ...] | None = None
    """HyperPod clusters of the fleet whose events are told. Default: all of them."""
    topic_arn: Annotated[TopicArn | None, Field(alias="topic")] = None
    """ARN of the SNS topic that is told. Default: one of its own, to which you subscribe."""
