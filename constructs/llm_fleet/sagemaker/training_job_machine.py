"""The state machine of a training job: what it is made from, alarms of its runs, what starts it by a schedule."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_stepfunctions as stepfunctions
from constructs import Construct

from llm_fleet.catalog.training_job import job_machine_fact
from llm_fleet.iam.node_role import ServiceRole
from llm_fleet.iam.statements import Permission, Place
from llm_fleet.logs import log_group
from llm_fleet.sagemaker.training_job_permissions import NAMESPACE, MachineFeatures, machine_permissions
from llm_fleet.spec.training_job import CapacityRetries, JobSchedule, TrainingJobSpec
from llm_fleet.spec.training_job_data import JobMetric


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAlarm:
    """An alarm that lives as long as a job: its metric has the job's name as dimension."""

    suffix: str
    """What follows the job's name in the alarm's, e.g. `train:loss-above`."""
    request: Mapping[str, Any]
    """PutMetricAlarm, without AlarmName and Dimensions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRecord:
    """Where the watch writes down what it decided about a job that ended."""

    table_name: str
    """Its table; may be a token."""
    ask_seconds: int
    """Between two questions."""
    asks_at_most: int
    """Questions after one job; then the watch counts as silent."""
    successors_at_most: int
    """Jobs that are followed after the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often a machine asks, so that its history never gets too long."""

    poll_seconds: int
    """Between two questions how the job is."""
    polls_at_most: int
    """Questions over all jobs of one execution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePlan:
    """Everything that the definition depends on. All texts but `name` and the alarms' may be tokens."""

    name: str
    """Begins every job's name."""
    partition: str
    """E.g. `aws`."""
    request: Mapping[str, Any]
    """CreateTrainingJob; its TrainingJobName, HyperParameters, Environment, CheckpointConfig.S3Uri are filled in."""
    pace: Pace
    """How often it asks."""
    quota_attempts: int
    """Times that a job is asked for again which the account's quota has no room for."""
    capacity_waits: tuple[int, ...]
    """Seconds before each further job after one that found no capacity; none under a watch, which does that."""
    alarms: tuple[RunAlarm, ...] = ()
    """Put for each job before it starts, deleted when it has ended."""
    watch: WatchRecord | None = None
    """`None`: nobody starts a failed job again."""


EVENTS_OF_A_POLL = 11
"""Of `WaitForJob`, `DescribeJob`, `HowIsIt`, `CountPoll`: two each, five of the call."""
EVENTS_OF_AN_ASK = 13
"""Of `AskWatch`, `WhatDecided`, `CountAsk`, `AskAgain`, `WaitForWatch`."""


def pace(*, longest_seconds: int, attempts: int, alarms: int, watch: WatchRecord | None) -> Pace:
    """Return the pace of a machine that follows jobs for `longest_seconds` altogether.

    `attempts`: jobs that one execution has at most. `alarms`: that each of them has.
    """
    fact = job_machine_fact
    jobs = 1 + watch.successors_at_most if watch else attempts
    taken = fact("spare_events") + jobs * (fact("events_of_an_attempt") + alarms * fact("events_of_an_alarm"))
    if watch:
        taken += jobs * watch.asks_at_most * EVENTS_OF_AN_ASK
    polls = (fact("history_events") - taken) // EVENTS_OF_A_POLL
    return Pace(
        poll_seconds=max(fact("shortest_poll_seconds"), ceil(longest_seconds / polls)),
        polls_at_most=polls,
    )


def watch_record(table_name: str, *, answer_within_seconds: int) -> WatchRecord:
    """Return how a machine asks a watch that needs `answer_within_seconds` at most."""
    asks: int = job_machine_fact("asks_at_most")
    return WatchRecord(
        table_name=table_name,
        ask_seconds=max(job_machine_fact("shortest_ask_seconds"), ceil(answer_within_seconds / asks)),
        asks_at_most=asks,
        successors_at_most=job_machine_fact("successors_at_most"),
    )


def longest_seconds(*, run_seconds: int, pending_seconds: int | None, watched: bool) -> int:
    """Return for how long an execution follows its jobs: waiting included, and twice as long under a watch."""
    fact = job_machine_fact
    one = run_seconds + (fact("pending_seconds") if pending_seconds is None else pending_seconds)
    return one * fact("watched_factor") if watched else one


JOB_DIMENSION = "TrainingJobName"
"""Dimension of what metric definitions read from a log; the SageMaker SDK's TrainingJobAnalytics asks by it. What the
instances are measured by (GPUUtilization …) has `Host` in its place: `<job>/algo-1`."""


def run_alarms(metrics: Mapping[str, JobMetric], *, topic_arn: str | None) -> tuple[RunAlarm, ...]:
    """Return the alarms on thresholds of `metrics`; they tell `topic_arn`, or nobody."""
    return tuple(alarm for name, metric in metrics.items() for alarm in _alarms(name, metric, topic_arn))


def _alarms(name: str, metric: JobMetric, topic_arn: str | None) -> Iterator[RunAlarm]:
    bounds = (("above", metric.above, "GreaterThanThreshold"), ("below", metric.below, "LessThanThreshold"))
    for side, threshold, operator in bounds:
        if threshold is None:
            continue
        periods: int = job_machine_fact("alarm_periods")
        request: dict[str, Any] = {
            "AlarmDescription": f"{name} of the training job in the alarm's name is {side} {threshold}. Look at "
            "the job's log; aws sagemaker stop-training-job stops it.",
            "Namespace": NAMESPACE,
            "MetricName": name,
            "Statistic": "Average",
            "Period": job_machine_fact("alarm_period_seconds"),
            "EvaluationPeriods": periods,
            "DatapointsToAlarm": periods,
            "ComparisonOperator": operator,
            "Threshold": threshold,
            "TreatMissingData": "ignore",
        }
        if topic_arn:
            request |= {"AlarmActions": [topic_arn], "OKActions": [topic_arn]}
        yield RunAlarm(suffix=f"{name}-{side}", request=request)


def machine_plan(
    job: TrainingJobSpec,
    request: Mapping[str, Any],
    *,
    partition: str,
    retries: CapacityRetries,
    watch: WatchRecord | None,
    topic_arn: str | None,
) -> MachinePlan:
    """Return the plan of the machine that runs `job` by `request`."""
    alarms = run_alarms(job.metrics, topic_arn=topic_arn)
    waits = () if watch else retries.waits
    stopping = request["StoppingCondition"]
    longest = longest_seconds(
        run_seconds=stopping.get("MaxWaitTimeInSeconds", stopping["MaxRuntimeInSeconds"]),
        pending_seconds=stopping.get("MaxPendingTimeInSeconds"),
        watched=watch is not None,
    )
    return MachinePlan(
        name=job.name,
        partition=partition,
        request=request,
        pace=pace(longest_seconds=longest, attempts=1 + len(waits), alarms=len(alarms), watch=watch),
        quota_attempts=job_machine_fact("quota_attempts"),
        capacity_waits=waits,
        alarms=alarms,
        watch=watch,
    )


def _own_account(scope: Construct) -> Mapping[str, Any]:
    """Return the condition on a trust that the service acts for this account, which both services here send."""
    return {"StringEquals": {"aws:SourceAccount": cdk.Stack.of(scope).account}}


_Machine = stepfunctions.CfnStateMachine
_LOG_PREFIX = "/aws/vendedlogs/states"
"""Log groups below it need no line each in the account's one resource policy (the guide on logging executions)."""


class JobMachine(Construct):
    """A STANDARD state machine that logs every step, without inputs and outputs, and traces executions by X-Ray."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        features: MachineFeatures,
        definition: dict[str, Any],
        place: Place,
        log_retention_days: int,
        encryption_key: kms.IKey | None,
    ) -> None:
        """Make the machine `features.name`.

        `encryption_key`: of its log; its policy must let CloudWatch Logs use it. Default CloudWatch Logs' own.
        """
        super().__init__(scope, id)
        self.log_group = log_group(
            self,
            "Log",
            name=f"{_LOG_PREFIX}/{features.name}",
            retention_days=log_retention_days,
            encryption_key=encryption_key,
            holds=", and steps are logged without their data; `encryption_key` takes another",
        )
        """The L1 of its log; it goes with the stack."""
        role = ServiceRole(
            self,
            "Role",
            service="states.amazonaws.com",
            description=f"State machine of the training job {features.name}",
            permissions=machine_permissions(features, place),
            conditions=_own_account(self),
        )
        self.role: iam.IRole = role.role
        """What it acts with."""
        self.machine = _Machine(
            self,
            "Resource",
            state_machine_name=features.name,
            state_machine_type="STANDARD",
            role_arn=self.role.role_arn,
            # As text: the CDK drops null and empty objects of an object, and both mean something here.
            definition_string=json.dumps(definition, separators=(",", ":")),
            logging_configuration=_Machine.LoggingConfigurationProperty(
                level="ALL",
                include_execution_data=False,
                destinations=[
                    _Machine.LogDestinationProperty(
                        cloud_watch_logs_log_group=_Machine.CloudWatchLogsLogGroupProperty(
                            log_group_arn=self.log_group.attr_arn
                        )
                    )
                ],
            ),
            tracing_configuration=_Machine.TracingConfigurationProperty(enabled=True),
        )
        """The L1 beneath."""
        self.machine.node.add_dependency(role)

    @property
    def arn(self) -> str:
        """The machine's ARN, a token."""
        return self.machine.attr_arn


_RETRIES, _OLDEST_SECONDS = 3, 3600


class ScheduledStart(Construct):
    """A schedule of EventBridge Scheduler that starts a state machine, and the role that it does so with."""

    def __init__(self, scope: Construct, id: str, *, schedule: JobSchedule, name: str, state_machine_arn: str) -> None:
        """Start `state_machine_arn` by `schedule`; the schedule is called `name`.

        A start that fails is tried three times within an hour, and then not again before the next time.
        """
        super().__init__(scope, id)
        role = ServiceRole(
            self,
            "Role",
            service="scheduler.amazonaws.com",
            description=f"Schedule of the training job {name}",
            permissions=(
                Permission(
                    sid="Start",
                    actions=("states:StartExecution",),
                    resources=(state_machine_arn,),
                    reason="the schedule starts this machine, and no other",
                ),
            ),
            conditions=_own_account(self),
        )
        given = {"hyperparameters": dict(schedule.hyperparameters)} if schedule.hyperparameters else {}
        self.schedule = scheduler.CfnSchedule(
            self,
            "Resource",
            name=name,
            description=f"Starts the training job {name}",
            schedule_expression=schedule.expression,
            schedule_expression_timezone=schedule.time_zone,
            state="ENABLED" if schedule.enabled else "DISABLED",
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=state_machine_arn,
                role_arn=role.role.role_arn,
                input=json.dumps(given),
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                    maximum_retry_attempts=_RETRIES, maximum_event_age_in_seconds=_OLDEST_SECONDS
                ),
            ),
        )
        """The L1 beneath."""
        self.schedule.node.add_dependency(role)
