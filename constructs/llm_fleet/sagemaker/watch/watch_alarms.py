"""When the watch itself needs somebody."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from llm_fleet.catalog.training_watch import training_watch_facts

_Dimensions = Mapping[str, str]
_PERIOD = 300
_HOUR = 12
"""In periods: four sweeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    id: str
    meaning: str
    namespace: str
    metric: str
    statistic: str
    dimensions: _Dimensions
    threshold: float
    periods: int = 1
    bad: int | None = None
    """So many of these periods; none: all."""
    below: bool = False
    missing: str = "notBreaching"


class WatchAlarms(Construct):
    """Alarms on what the watch could not take, on what waits for too long, on errors, and on silence."""

    def __init__(
        self, scope: Construct, id: str, *, name: str, queue: str, dead_letters: str, function: str, topic_arn: str
    ) -> None:
        """Make the alarms of the watch `name`, by the names of its queues and function; `topic_arn` is told."""
        super().__init__(scope, id)
        plans = _plans(name, queue=queue, dead_letters=dead_letters, function=function)
        self.alarms: Mapping[str, cloudwatch.CfnAlarm] = MappingProxyType(
            {plan.id: self._alarm(plan, topic_arn) for plan in plans}
        )
        """The L1s: `PutAside`, `Waiting`, `Errors`, `Asleep`."""

    def _alarm(self, plan: _Plan, topic_arn: str) -> cloudwatch.CfnAlarm:
        return cloudwatch.CfnAlarm(
            self,
            plan.id,
            alarm_description=plan.meaning,
            namespace=plan.namespace,
            metric_name=plan.metric,
            statistic=plan.statistic,
            dimensions=[
                cloudwatch.CfnAlarm.DimensionProperty(name=name, value=value) for name, value in plan.dimensions.items()
            ],
            period=_PERIOD,
            evaluation_periods=plan.periods,
            datapoints_to_alarm=plan.bad,
            threshold=plan.threshold,
            comparison_operator="LessThanThreshold" if plan.below else "GreaterThanOrEqualToThreshold",
            treat_missing_data=plan.missing,
            alarm_actions=[topic_arn],
            ok_actions=[topic_arn],
        )


def _plans(name: str, *, queue: str, dead_letters: str, function: str) -> tuple[_Plan, ...]:
    facts = training_watch_facts()
    return (
        _Plan(
            id="PutAside",
            meaning=f"Events that the watch {name} could not handle lie in its second queue. Read one, and the log of "
            "the function at its time; when the cause is gone, start a redrive of that queue. The record keeps what "
            "was done already from being done again.",
            namespace="AWS/SQS",
            metric="ApproximateNumberOfMessagesVisible",
            statistic="Maximum",
            dimensions={"QueueName": dead_letters},
            threshold=1,
        ),
        _Plan(
            id="Waiting",
            meaning=f"An event has waited for the watch {name} for {facts.old_message_minutes} minutes. Look whether "
            "its function is throttled, or its event source mapping is disabled.",
            namespace="AWS/SQS",
            metric="ApproximateAgeOfOldestMessage",
            statistic="Maximum",
            dimensions={"QueueName": queue},
            threshold=facts.old_message_minutes * 60,
        ),
        _Plan(
            id="Errors",
            # Not on end: a message that failed is hidden for an hour, so that often only each sweep's fail.
            meaning=f"The function of the watch {name} failed in three of the last hour's periods of five minutes. Its "
            "log says why; a right that is missing is said there by name.",
            namespace="AWS/Lambda",
            metric="Errors",
            statistic="Sum",
            dimensions={"FunctionName": function},
            threshold=1,
            periods=_HOUR,
            bad=3,
        ),
        _Plan(
            id="Asleep",
            meaning=f"The watch {name} has looked at nothing for an hour, not even at its own sweep. Look whether its "
            "rules are enabled, its event source mapping is, and its key can be used.",
            namespace="AWS/Lambda",
            metric="Invocations",
            statistic="Sum",
            dimensions={"FunctionName": function},
            threshold=1,
            periods=_HOUR,
            below=True,
            missing="breaching",
        ),
    )
