"""EventBridge rules of the watch, and alarms on the watch itself."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

import aws_cdk as cdk
import jsii
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_events as events
from constructs import Construct, IValidation  # codespell:ignore ivalidation

from llm_fleet.catalog.training_job import training_watch_facts
from llm_fleet.notifications.metric_alarms import AlarmPlan, ServiceMetric, function_metric
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.watch_followed import check_followed_something, check_pattern_size, check_settings_size
from llm_fleet.sagemaker.watch_function import WatchQueue

CLUSTER_EVENTS = (
    "SageMaker HyperPod Cluster State Change",
    "SageMaker HyperPod Cluster Node Health Event",
    "SageMaker HyperPod Cluster Event",
)
"""docs.aws.amazon.com/sagemaker/latest/dg/automating-sagemaker-with-eventbridge.html

For Slurm clusters, assumption: hyperpod-slurm-sends-no-health-events
"""


class WatchRules(Construct):
    """Rules of the default event bus that send events to the watch's queue, and the schedule of its sweep."""

    def __init__(self, scope: Construct, id: str, *, queue: WatchQueue, alarm_prefix: str) -> None:
        """Create the schedule; the other rules are created by `forward_job_events` and `forward_cluster_events`."""
        super().__init__(scope, id)
        self._queue = queue
        self._alarm_prefix = alarm_prefix
        minutes = training_watch_facts().sweep_minutes
        self.rules: dict[str, events.CfnRule] = {}
        """The L1 constructs by id: `Sweep`, `Jobs`, `Alarms`, `Clusters`."""
        self._rule(
            "Sweep",
            f"Every {minutes} minutes: the watch checks for changes that no event reported",
            schedule=f"rate({minutes} minutes)",
            body=cdk.Stack.of(self).to_json_string({"kind": "sweep"}),
        )

    def forward_job_events(self, prefixes: Callable[[], Sequence[str]]) -> None:
        """Send events of jobs whose names begin with `prefixes`, called at synth, and of the watch's alarms.

        All job states are sent, since a job gets its alarms when it begins to train.
        """
        if "Jobs" in self.rules:
            return
        self._rule(
            "Jobs",
            "States of the training jobs that are watched",
            pattern=cdk.Lazy.any(cast(cdk.IStableAnyProducer, _Produced(lambda: job_pattern(prefixes())))),
        )
        self._rule(
            "Alarms",
            "Alarms on the metrics of the training jobs that are watched",
            pattern={
                "source": ["aws.cloudwatch"],
                "detail-type": ["CloudWatch Alarm State Change"],
                "detail": {"alarmName": [{"prefix": self._alarm_prefix}]},
            },
        )

    def forward_cluster_events(self, arns: Sequence[str]) -> None:
        """Send HyperPod's events of the clusters `arns`.

        AWS's examples have the cluster as a placeholder in `resources`, in `detail.ClusterArn` and in
        `detail.EventDetails.ClusterArn`, so any of them matches. assumption: hyperpod-events-name-cluster-arn
        """
        self._rule(
            "Clusters",
            "States, nodes and events of the HyperPod clusters that are followed",
            pattern={
                "source": ["aws.sagemaker"],
                "detail-type": list(CLUSTER_EVENTS),
                "$or": [
                    {"resources": list(arns)},
                    {"detail": {"ClusterArn": list(arns)}},
                    {"detail": {"EventDetails": {"ClusterArn": list(arns)}}},
                ],
            },
        )

    def _rule(
        self,
        id: str,
        description: str,
        *,
        pattern: Any = None,
        schedule: str | None = None,
        body: str | None = None,
    ) -> None:
        rule = events.CfnRule(
            self,
            id,
            description=description,
            event_pattern=pattern,
            schedule_expression=schedule,
            targets=[
                events.CfnRule.TargetProperty(
                    id="Queue",
                    arn=self._queue.queue.queue_arn,
                    input=body,
                    dead_letter_config=events.CfnRule.DeadLetterConfigProperty(arn=self._queue.dead_letters.queue_arn),
                )
            ],
        )
        self._queue.receive_from(rule.attr_arn, sid=f"{id}Rule")
        self.rules[id] = rule


def job_pattern(prefixes: Sequence[str]) -> Mapping[str, Any]:
    """Return the event pattern of jobs whose names begin with one of `prefixes`."""
    return {
        "source": ["aws.sagemaker"],
        "detail-type": ["SageMaker Training Job State Change"],
        "detail": {"TrainingJobName": [{"prefix": prefix} for prefix in prefixes]},
    }


@jsii.implements(cdk.IStableAnyProducer)
class _Produced:
    def __init__(self, value: Callable[[], Any]) -> None:
        self._value = value

    def produce(self) -> Any:
        """Return the value; called at synth."""
        return self._value()


def text_at_synth(text: Callable[[], str]) -> str:
    """Return a token that resolves to the result of `text` at synth."""
    return cdk.Lazy.string(cast(cdk.IStableStringProducer, _Text(text)))


def validate_at_synth(
    watch: Construct, *, prefixes: Callable[[], Sequence[str]], settings: Callable[[], str], clusters: bool
) -> None:
    """Make synth fail when `watch` watches nothing, or more than the limits of a function or rule allow."""

    def problems() -> list[Problem]:
        watched = prefixes()
        pattern = cdk.Stack.of(watch).to_json_string(dict(job_pattern(watched)))
        return [
            *check_followed_something(jobs=bool(watched), clusters=clusters),
            *check_settings_size(len(settings())),
            *check_pattern_size(len(pattern)),
        ]

    watch.node.add_validation(cast(IValidation, _Validation(problems)))  # codespell:ignore ivalidation


@jsii.implements(cdk.IStableStringProducer)
class _Text:
    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text

    def produce(self) -> str:
        """Return the result of `text`."""
        return self._text()


@jsii.implements(IValidation)  # codespell:ignore ivalidation
class _Validation:
    def __init__(self, problems: Callable[[], Sequence[Problem]]) -> None:
        self._problems = problems

    def validate(self) -> list[str]:
        """Return the messages of all problems."""
        return [str(problem) for problem in self._problems()]


_PERIOD = 300
_HOUR = 12
"""Number of periods in an hour, which has four sweeps."""


class WatchAlarms(Construct):
    """Alarms on dead letters, old messages, errors, and missing invocations."""

    def __init__(
        self, scope: Construct, id: str, *, name: str, queue: str, dead_letters: str, function: str, topic_arn: str
    ) -> None:
        """Create the alarms of the watch `name` on its queues and function; they notify `topic_arn`."""
        super().__init__(scope, id)
        plans = _plans(name, queue=queue, dead_letters=dead_letters, function=function)
        self.alarms: Mapping[str, cloudwatch.CfnAlarm] = MappingProxyType(
            {plan.id: self._alarm(plan, topic_arn) for plan in plans}
        )
        """The L1 constructs by id: `PutAside`, `Waiting`, `Errors`, `Asleep`."""

    def _alarm(self, plan: AlarmPlan, topic_arn: str) -> cloudwatch.CfnAlarm:
        metric = plan.measure
        assert isinstance(metric, ServiceMetric)
        return cloudwatch.CfnAlarm(
            self,
            plan.id,
            alarm_description=plan.meaning,
            namespace=metric.namespace,
            metric_name=metric.name,
            statistic=metric.statistic,
            dimensions=[
                cloudwatch.CfnAlarm.DimensionProperty(name=name, value=value)
                for name, value in metric.dimensions.items()
            ],
            period=metric.period_seconds,
            evaluation_periods=plan.periods,
            datapoints_to_alarm=plan.ringing,
            threshold=plan.threshold,
            comparison_operator="LessThanThreshold" if plan.below else "GreaterThanOrEqualToThreshold",
            treat_missing_data=plan.missing,
            alarm_actions=[topic_arn],
            ok_actions=[topic_arn],
        )


def _plans(name: str, *, queue: str, dead_letters: str, function: str) -> tuple[AlarmPlan, ...]:
    facts = training_watch_facts()
    return (
        AlarmPlan(
            id="PutAside",
            measure=_of_queue(dead_letters, "ApproximateNumberOfMessagesVisible"),
            threshold=1,
            meaning=f"The dead-letter queue of the watch {name} has events that its function cannot handle. Read one "
            "of them, and the function's log at its time. After a fix, start a redrive of the queue. The record "
            "prevents completed actions from being repeated.",
        ),
        AlarmPlan(
            id="Waiting",
            measure=_of_queue(queue, "ApproximateAgeOfOldestMessage"),
            threshold=facts.old_message_minutes * 60,
            meaning=f"An event has waited for the watch {name} for {facts.old_message_minutes} minutes. Check whether "
            "its function is throttled, or its event source mapping is disabled.",
        ),
        AlarmPlan(
            id="Errors",
            measure=function_metric(function, "Errors", label="failed runs", period_seconds=_PERIOD),
            threshold=1,
            periods=_HOUR,
            ringing=3,
            # Not consecutive: a failed message is hidden for an hour, so often only the sweeps fail.
            meaning=f"The function of the watch {name} failed in three 5-minute periods of the last hour. Its log has "
            "the reason; for a missing permission, it has the IAM action.",
        ),
        AlarmPlan(
            id="Asleep",
            measure=function_metric(function, "Invocations", label="runs", period_seconds=_PERIOD),
            threshold=1,
            periods=_HOUR,
            below=True,
            missing="breaching",
            meaning=f"The watch {name} has handled no event for an hour, not even its own sweep. Check that its rules "
            "and its event source mapping are enabled, and that its key can be used.",
        ),
    )


def _of_queue(name: str, metric: str) -> ServiceMetric:
    return ServiceMetric(
        namespace="AWS/SQS",
        name=metric,
        dimensions={"QueueName": name},
        statistic="Maximum",
        period_seconds=_PERIOD,
    )
