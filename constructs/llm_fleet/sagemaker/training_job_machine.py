"""The state machine of a training job: its plan, alarms of single runs, and its schedule."""

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
    """An alarm that exists only while a job runs: its metric has the job's name as dimension."""

    suffix: str
    """Suffix of the alarm's name after the job's name, e.g. `train:loss-above`."""
    request: Mapping[str, Any]
    """Parameters of PutMetricAlarm without AlarmName and Dimensions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRecord:
    """The watch's record of decisions about jobs that ended, and how to poll it."""

    table_name: str
    """DynamoDB table; may be a token."""
    ask_seconds: int
    """Seconds between two polls."""
    asks_at_most: int
    """Maximum polls after one job; then the execution fails because the watch has no decision."""
    successors_at_most: int
    """Maximum jobs that are followed after the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Polling rate of a state machine, within the limit of its event history."""

    poll_seconds: int
    """Seconds between two calls of DescribeTrainingJob."""
    polls_at_most: int
    """Maximum polls over all jobs of one execution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePlan:
    """All input of the definition. All strings except `name` and those of alarms may be tokens."""

    name: str
    """Prefix of every job's name."""
    partition: str
    """E.g. `aws`."""
    request: Mapping[str, Any]
    """CreateTrainingJob; the execution sets TrainingJobName, HyperParameters, Environment, CheckpointConfig.S3Uri."""
    pace: Pace
    """Polling rate."""
    quota_attempts: int
    """Retries of CreateTrainingJob when the account's quota is used up."""
    capacity_waits: tuple[int, ...]
    """Seconds before each new job after an insufficient capacity error; empty with a watch, which restarts jobs."""
    alarms: tuple[RunAlarm, ...] = ()
    """Created for each job before it starts, deleted when it has ended."""
    watch: WatchRecord | None = None
    """`None`: failed jobs are not restarted."""


EVENTS_OF_A_POLL = 11
"""History events of `WaitForJob`, `DescribeJob`, `HowIsIt`, `CountPoll`: two each, five for the call."""
EVENTS_OF_AN_ASK = 13
"""History events of `AskWatch`, `WhatDecided`, `CountAsk`, `AskAgain`, `WaitForWatch`."""


def pace(*, longest_seconds: int, attempts: int, alarms: int, watch: WatchRecord | None) -> Pace:
    """Return the polling rate of a state machine that follows jobs for `longest_seconds` in total.

    `attempts`: maximum jobs of one execution. `alarms`: number for each job.
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
    """Return how a state machine polls a watch that decides within `answer_within_seconds`."""
    asks: int = job_machine_fact("asks_at_most")
    return WatchRecord(
        table_name=table_name,
        ask_seconds=max(job_machine_fact("shortest_ask_seconds"), ceil(answer_within_seconds / asks)),
        asks_at_most=asks,
        successors_at_most=job_machine_fact("successors_at_most"),
    )


def longest_seconds(*, run_seconds: int, pending_seconds: int | None, watched: bool) -> int:
    """Return the seconds that an execution follows its jobs: including waiting, and twice as long with a watch."""
    fact = job_machine_fact
    one = run_seconds + (fact("pending_seconds") if pending_seconds is None else pending_seconds)
    return one * fact("watched_factor") if watched else one


JOB_DIMENSION = "TrainingJobName"
"""Dimension of metrics that metric definitions read from a log; the SageMaker SDK's TrainingJobAnalytics uses it.
Instance metrics (GPUUtilization …) have `Host` instead: `<job>/algo-1`."""


def run_alarms(metrics: Mapping[str, JobMetric], *, topic_arn: str | None) -> tuple[RunAlarm, ...]:
    """Return the alarms on thresholds of `metrics`; they notify `topic_arn`, if set."""
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
    """Return the plan of the state machine that runs `job` with `request`."""
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
    """Return the trust condition on this account; Step Functions and EventBridge Scheduler send its keys."""
    return {"StringEquals": {"aws:SourceAccount": cdk.Stack.of(scope).account}}


_Machine = stepfunctions.CfnStateMachine
_LOG_PREFIX = "/aws/vendedlogs/states"
"""Log groups with this prefix need no entry in the account's CloudWatch Logs resource policy (Step Functions guide)."""


class JobMachine(Construct):
    """A STANDARD state machine that logs every step without its input and output, and has X-Ray tracing."""

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
        """Create the state machine `features.name`.

        `encryption_key`: encrypts its log; its policy must let CloudWatch Logs use it. Default: CloudWatch's own.
        """
        super().__init__(scope, id)
        self.log_group = log_group(
            self,
            "Log",
            name=f"{_LOG_PREFIX}/{features.name}",
            retention_days=log_retention_days,
            encryption_key=encryption_key,
            holds=", and steps are logged without their data; set `encryption_key` to use another",
        )
        """The L1 construct of its log group, which is deleted with the stack."""
        role = ServiceRole(
            self,
            "Role",
            service="states.amazonaws.com",
            description=f"State machine of the training job {features.name}",
            permissions=machine_permissions(features, place),
            conditions=_own_account(self),
        )
        self.role: iam.IRole = role.role
        """Execution role of the state machine."""
        self.machine = _Machine(
            self,
            "Resource",
            state_machine_name=features.name,
            state_machine_type="STANDARD",
            role_arn=self.role.role_arn,
            # As a string, because the CDK removes null values and empty objects, which have a meaning here.
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
        """The L1 construct."""
        self.machine.node.add_dependency(role)

    @property
    def arn(self) -> str:
        """The state machine's ARN, a CDK token."""
        return self.machine.attr_arn


_RETRIES, _OLDEST_SECONDS = 3, 3600


class ScheduledStart(Construct):
    """An EventBridge Scheduler schedule that starts a state machine, and its role."""

    def __init__(self, scope: Construct, id: str, *, schedule: JobSchedule, name: str, state_machine_arn: str) -> None:
        """Create the schedule `name`, which starts `state_machine_arn`.

        A failed start is retried three times within an hour, and then not before the next scheduled time.
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
                    reason="the schedule starts only this state machine",
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
        """The L1 construct."""
        self.schedule.node.add_dependency(role)
