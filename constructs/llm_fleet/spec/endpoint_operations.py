"""What goes on around an endpoint of SageMaker: capture, scaling, rollouts, a budget, alarms."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from llm_fleet.catalog.endpoint import (
    budget_facts,
    endpoint_alarm_facts,
    endpoint_scaling_facts,
    rollout_facts,
)
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.problem import is_unresolved
from llm_fleet.spec.spec import SHORTHAND, Spec, Within
from llm_fleet.spec.values import Dollars, Hours, KeyArn, Milliseconds, Seconds, Several, TopicArn

_COOLDOWN = endpoint_scaling_facts().cooldown_seconds


def _in_s3(schema: dict[str, Any]) -> None:
    """Offer editors the beginning; what is an address in S3 is for the rule to say."""
    schema["pattern"] = "^s3://"


class DataCapture(Spec):
    """Requests and answers that SageMaker writes to S3, one line of JSON each, by endpoint, variant and hour.

    They hold what users wrote: think of who may read the bucket. What is captured stays when the endpoint goes. A share
    of none is refused (LF945), as are neither side (LF946) and no place in S3 (LF947).
    """

    percent: int = 100
    """Of a hundred requests, how many are kept: 1 to 100. Default: 100."""
    inputs: Annotated[bool, Field(alias="requests")] = True
    """Whether requests are kept. Default: yes."""
    outputs: Annotated[bool, Field(alias="answers")] = True
    """Whether answers are kept. Default: yes."""
    uri: Annotated[
        str | None, SHORTHAND, Field(alias="to", examples=["s3://my-bucket/captured"], json_schema_extra=_in_s3)
    ] = None
    """Where: `s3://bucket/prefix`. Default: a bucket of the endpoint's own, encrypted and retained."""
    encryption_key_arn: Annotated[KeyArn | None, Field(alias="key")] = None
    """ARN of the KMS key of the bucket at `to`. Default: as that bucket encrypts by itself.

    SageMaker writes with it, so the endpoint's role gets its use; the key's policy must allow it.
    """


class EndpointScaling(Spec):
    """Between how many instances an endpoint's number follows its load, and what of the load it follows.

    Never 0: SageMaker scales only inference components to nothing, and this endpoint serves its one model directly.
    Numbers that cannot be are refused (LF948), as are targets and waits out of range (LF949), and two targets (LF117).
    """

    maximum: Annotated[int, Field(alias="max", examples=[4])]
    """Never more instances."""
    minimum: Annotated[int | None, Field(alias="min")] = None
    """Never fewer. Default: the endpoint's `count`."""
    concurrent_requests: float | None = None
    """Requests at a time that an instance shall have, waiting ones too. Default: 5, unless there is another target.

    The metric has a point every ten seconds, and knows how long an answer takes, as a language model's does.
    """
    invocations_per_minute: Annotated[float | None, Field(alias="requests_per_minute")] = None
    """Requests in a minute that an instance shall have, in place of those at a time. Default: not looked at."""
    scale_out_seconds: Annotated[
        Seconds | None,
        Field(alias="wait_after_adding"),
        Within(limit=_COOLDOWN, code=SageMakerCode.ENDPOINT_SCALING_TARGET, what="the wait before instances are added"),
    ] = None
    """Wait after instances were added. Default: `300 s`."""
    scale_in_seconds: Annotated[
        Seconds | None,
        Field(alias="wait_after_taking"),
        Within(limit=_COOLDOWN, code=SageMakerCode.ENDPOINT_SCALING_TARGET, what="the wait before instances are taken"),
    ] = None
    """Wait after instances were taken. Default: `600 s`; a model takes minutes to be loaded again."""


class RolloutKind(StrEnum):
    """In which steps an update reaches an endpoint. The names of the members are the service's words."""

    ALL_AT_ONCE = "all-at-once"
    """A whole new fleet takes all traffic in one step."""
    CANARY = "canary"
    """A whole new fleet takes a part of the traffic, and the rest once that has gone well."""
    LINEAR = "linear"
    """A whole new fleet takes the traffic in equal steps."""
    ROLLING = "rolling"
    """Instances are replaced in batches, so that no second fleet is needed: for instances that are hard to have."""


class EndpointRollout(Spec):
    """In which steps traffic goes over to a new model, image or instance, and what rolls it back.

    While a step is looked at, the endpoint's own alarms on server errors and latency, and those of `alarms`, put all
    traffic back when they ring. A step of a size that SageMaker refuses is refused (LF950), as are waits out of range,
    too short for an alarm or longer than the timeout (LF951), too many alarms (LF953), and what its kind does not have
    (LF117).
    """

    kind: Annotated[RolloutKind, SHORTHAND] = RolloutKind.ALL_AT_ONCE
    """`all-at-once`, `canary`, `linear` or `rolling`. Default: `all-at-once`, the only one for a single instance."""
    percent: int | None = None
    """Size of a step in percent of the instances. Default: 10 of a canary, 25 linear and rolling."""
    bake_seconds: Annotated[
        Seconds | None,
        Field(alias="watch"),
        Within(
            limit=rollout_facts().bake_seconds,
            code=SageMakerCode.ROLLOUT_WAIT,
            what="the time that a step is looked at",
        ),
    ] = None
    """How long each step is looked at by the alarms: `300 s` to `1 h`. Default: `10 min`."""
    termination_wait_seconds: Annotated[
        Seconds | None,
        Field(alias="keep_old"),
        Within(
            limit=rollout_facts().termination_wait_seconds,
            code=SageMakerCode.ROLLOUT_WAIT,
            what="the time that the old fleet stays",
        ),
    ] = None
    """How long the old instances stay once the new ones have all traffic, up to `1 h`. Default: `2 min`."""
    timeout_seconds: Annotated[
        Seconds | None,
        Field(alias="timeout"),
        Within(
            limit=rollout_facts().timeout_seconds,
            code=SageMakerCode.ROLLOUT_WAIT,
            what="the time for the whole update",
        ),
    ] = None
    """How long the whole update may take: `10 min` to `8 h`. Default: the service's own."""
    alarm_names: Annotated[Several[str], Field(alias="alarms")] = ()
    """CloudWatch alarms of yours that roll back too, by name, 8 at most. Default: the endpoint's own alone."""


class EndpointBudget(Spec):
    """A monthly sum, and who is told when it is used up. It tells; it stops nothing: `time_to_live` does that.

    AWS bills with a delay of hours up to a day, so that it tells late. A sum of 0 is refused (LF955), as are shares
    that are none or too many (LF956), and addresses that are none (LF957).
    """

    monthly_usd: Annotated[Dollars, SHORTHAND, Field(alias="monthly", examples=["200 USD"])]
    """The sum of a calendar month, e.g. `200 USD`."""
    at_percent: Several[float] = budget_facts().at_percent
    """Shares of it at which somebody is told. Default: 80 and 100."""
    forecast: bool = True
    """Whether somebody is told as soon as the whole sum is to be expected. Default: yes."""
    emails: Several[str] = ()
    """Who is told by e-mail, beside the topic of the alarms: 10 addresses at most. Default: no one."""
    tagged_only: bool = False
    """Whether only this endpoint counts, by its tag; the tag must be activated for billing, or nothing counts.

    Default: all of SageMaker in the account.
    """


class EndpointAlarms(Spec):
    """From when on the alarms of an endpoint ring. A threshold that always or never rings is refused (LF958)."""

    topic_arn: Annotated[TopicArn | None, SHORTHAND, Field(alias="topic")] = None
    """ARN of the SNS topic that alarms, the budget and the endpoint's end go to. Default: none.

    In Python, `HuggingFaceEndpoint` takes a topic of the app as well (`alarm_topic`), whose key it then knows.
    """
    server_error_percent: float | None = None
    """Requests that failed in the model, of a hundred, in three of five minutes. Default: 5."""
    model_latency_ms: Annotated[Milliseconds | None, Field(alias="model_latency")] = None
    """Average time of an answer in three of five minutes. Default: `30 s`; SageMaker breaks off after 60."""
    idle_hours: Annotated[
        Hours | None,
        Field(alias="idle"),
        Within(
            limit=endpoint_alarm_facts().idle_hours_range,
            code=SageMakerCode.ENDPOINT_ALARM,
            what="the number of hours without a request",
        ),
    ] = None
    """Hours on end in which instances ran and no request came: 1 to 168. Default: `6 hours`."""

    @property
    def model_latency_seconds(self) -> float | None:
        """In seconds, as alarms and people have it."""
        latency = self.model_latency_ms
        return latency if latency is None or is_unresolved(latency) else latency / 1000
