"""Operations of a SageMaker endpoint: data capture, auto scaling, rollouts, budget, alarms."""

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
    """Offer editors the prefix; a rule checks the URI."""
    schema["pattern"] = "^s3://"


class DataCapture(Spec):
    """Requests and answers that SageMaker writes to S3, one line of JSON each, by endpoint, variant and hour.

    They contain what users wrote, so check who can read the bucket. Captured data is kept when the endpoint is deleted.
    Errors: a percentage out of range (LF945), neither `requests` nor `answers` (LF946), a URI that is not in S3
    (LF947).
    """

    percent: int = 100
    """Percentage of requests that are captured: 1 to 100. Default: 100."""
    inputs: Annotated[bool, Field(alias="requests")] = True
    """Whether requests are captured. Default: yes."""
    outputs: Annotated[bool, Field(alias="answers")] = True
    """Whether answers are captured. Default: yes."""
    uri: Annotated[
        str | None, SHORTHAND, Field(alias="to", examples=["s3://my-bucket/captured"], json_schema_extra=_in_s3)
    ] = None
    """Destination, `s3://bucket/prefix`. Default: a bucket that is created for the endpoint, encrypted and retained."""
    encryption_key_arn: Annotated[KeyArn | None, Field(alias="key")] = None
    """ARN of the KMS key of the bucket at `to`. Default: none; the bucket's own default encryption.

    SageMaker encrypts with this key, so the endpoint's role gets permission to use it; the key policy must allow it,
    too.
    """


class EndpointScaling(Spec):
    """Auto scaling of an endpoint: the limits of its number of instances, and the metric that it follows.

    The minimum cannot be 0: SageMaker scales only inference components to zero, and this endpoint serves its model
    directly. Errors: impossible limits (LF948), targets and cooldowns out of range (LF949), two targets (LF117).
    """

    maximum: Annotated[int, Field(alias="max", examples=[4])]
    """Maximum number of instances."""
    minimum: Annotated[int | None, Field(alias="min")] = None
    """Minimum number of instances. Default: the endpoint's `count`."""
    concurrent_requests: float | None = None
    """Target of concurrent requests for each instance, including requests that wait. Default: 5, unless another target
    is set.

    CloudWatch has a data point every ten seconds. The metric also reflects how long an answer takes, which suits
    language models.
    """
    invocations_per_minute: Annotated[float | None, Field(alias="requests_per_minute")] = None
    """Target of requests per minute for each instance, instead of `concurrent_requests`. Default: not used."""
    scale_out_seconds: Annotated[
        Seconds | None,
        Field(alias="wait_after_adding"),
        Within(limit=_COOLDOWN, code=SageMakerCode.ENDPOINT_SCALING_TARGET, what="`wait_after_adding`"),
    ] = None
    """Cooldown after instances were added. Default: `300 s`."""
    scale_in_seconds: Annotated[
        Seconds | None,
        Field(alias="wait_after_taking"),
        Within(limit=_COOLDOWN, code=SageMakerCode.ENDPOINT_SCALING_TARGET, what="`wait_after_taking`"),
    ] = None
    """Cooldown after instances were removed. Default: `600 s`; loading a model again takes minutes."""


class RolloutKind(StrEnum):
    """How an update shifts traffic to new instances. The names of the members are the API's values."""

    ALL_AT_ONCE = "all-at-once"
    """New instances take all traffic in one step."""
    CANARY = "canary"
    """New instances take a part of the traffic, and the rest when that step has succeeded."""
    LINEAR = "linear"
    """New instances take the traffic in equal steps."""
    ROLLING = "rolling"
    """Instances are replaced in batches, without a second fleet: for instance types with scarce capacity."""


class EndpointRollout(Spec):
    """How an update shifts traffic to a new model, image or instance type, and what rolls it back.

    During a step, the endpoint's own alarms on server errors and latency, and those in `alarms`, roll all traffic back
    when one changes to ALARM. Errors: a step size that SageMaker rejects (LF950); a wait that is out of range, too
    short for an alarm or longer than the timeout (LF951); too many alarms (LF953); a setting that this kind does not
    have (LF117).
    """

    kind: Annotated[RolloutKind, SHORTHAND] = RolloutKind.ALL_AT_ONCE
    """`all-at-once`, `canary`, `linear` or `rolling`. Default: `all-at-once`, the only one for a single instance."""
    percent: int | None = None
    """Size of a step, in percent of the instances. Default: 10 for `canary`, 25 for `linear` and `rolling`."""
    bake_seconds: Annotated[
        Seconds | None,
        Field(alias="watch"),
        Within(
            limit=rollout_facts().bake_seconds,
            code=SageMakerCode.ROLLOUT_WAIT,
            what="`watch`",
        ),
    ] = None
    """How long the alarms are monitored after each step: `300 s` to `1 h`. Default: `10 min`."""
    termination_wait_seconds: Annotated[
        Seconds | None,
        Field(alias="keep_old"),
        Within(
            limit=rollout_facts().termination_wait_seconds,
            code=SageMakerCode.ROLLOUT_WAIT,
            what="`keep_old`",
        ),
    ] = None
    """How long the old instances are kept after the new ones have all traffic, up to `1 h`. Default: `2 min`."""
    timeout_seconds: Annotated[
        Seconds | None,
        Field(alias="timeout"),
        Within(
            limit=rollout_facts().timeout_seconds,
            code=SageMakerCode.ROLLOUT_WAIT,
            what="`timeout`",
        ),
    ] = None
    """Timeout of the whole update: `10 min` to `8 h`. Default: that of SageMaker."""
    alarm_names: Annotated[Several[str], Field(alias="alarms")] = ()
    """Names of more CloudWatch alarms that roll the update back, at most 8. Default: only the endpoint's own alarms."""


class EndpointBudget(Spec):
    """A monthly budget with notifications. It stops nothing; `time_to_live` deletes an endpoint.

    AWS bills with a delay of hours to a day, so notifications are late. Errors: an amount of 0 (LF955), invalid or too
    many percentages (LF956), invalid e-mail addresses (LF957).
    """

    monthly_usd: Annotated[Dollars, SHORTHAND, Field(alias="monthly", examples=["200 USD"])]
    """The budget of a calendar month, e.g. `200 USD`."""
    at_percent: Several[float] = budget_facts().at_percent
    """Percentages of the budget at which notifications are sent. Default: 80 and 100."""
    forecast: bool = True
    """Whether a notification is sent when the forecast reaches the whole budget. Default: yes."""
    emails: Several[str] = ()
    """E-mail addresses for notifications, in addition to the SNS topic of the alarms: at most 10. Default: none."""
    tagged_only: bool = False
    """Whether only this endpoint counts, by its cost allocation tag. Activate the tag in Billing, otherwise nothing
    counts.

    Default: all of SageMaker in the account.
    """


class EndpointAlarms(Spec):
    """Thresholds of an endpoint's alarms. A threshold that is always or never reached is an error (LF958)."""

    topic_arn: Annotated[TopicArn | None, SHORTHAND, Field(alias="topic")] = None
    """ARN of the SNS topic for alarms, the budget and the deletion of the endpoint. Default: none.

    In Python, `HuggingFaceEndpoint` also accepts a topic of the app (`alarm_topic`) and reads its KMS key.
    """
    server_error_percent: float | None = None
    """Percentage of requests that fail in the model, in three of five minutes. Default: 5."""
    model_latency_ms: Annotated[Milliseconds | None, Field(alias="model_latency")] = None
    """Average latency of an answer, in three of five minutes. Default: `30 s`; SageMaker's own timeout is 60 s."""
    idle_hours: Annotated[
        Hours | None,
        Field(alias="idle"),
        Within(
            limit=endpoint_alarm_facts().idle_hours_range,
            code=SageMakerCode.ENDPOINT_ALARM,
            what="`idle`",
        ),
    ] = None
    """Consecutive hours in which instances ran without a request: 1 to 168. Default: `6 hours`."""

    @property
    def model_latency_seconds(self) -> float | None:
        """`model_latency_ms` in seconds."""
        latency = self.model_latency_ms
        return latency if latency is None or is_unresolved(latency) else latency / 1000
