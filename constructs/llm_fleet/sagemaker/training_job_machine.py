"""The state machine of a training job, with its role, its permissions, its log, and what starts it by a schedule."""

import json
from dataclasses import dataclass
from typing import Any

from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_stepfunctions as stepfunctions
from constructs import Construct

from llm_fleet.iam.statements import Permission, Place
from llm_fleet.logs import log_group
from llm_fleet.sagemaker.training_job_permissions import ServiceRole, plan_permissions
from llm_fleet.spec.training_job import JobSchedule


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFeatures:
    """What a machine is switched on to do."""

    name: str
    """Begins the names of its jobs and alarms, with a hyphen after it."""
    role_arn: str
    """Of the jobs."""
    alarms: bool
    """Whether its jobs have alarms."""
    table_arn: str | None = None
    """Where the watch writes down what it decided."""
    table_key_arn: str | None = None
    """KMS key of that table."""
    training_plan_arn: str | None = None
    """Capacity that its jobs run on."""


def machine_permissions(features: MachineFeatures, place: Place) -> tuple[Permission, ...]:
    """Return every statement that a machine with `features` needs at `place`, in a stable order."""
    # SageMaker writes names in small letters in the ARNs of jobs.
    names = dict.fromkeys((features.name, features.name.lower()))
    jobs = tuple(place.arn("sagemaker", f"training-job/{name}-*") for name in names)
    return (
        Permission(
            sid="Jobs",
            actions=("sagemaker:AddTags", "sagemaker:CreateTrainingJob", "sagemaker:DescribeTrainingJob"),
            resources=jobs,
            reason="it starts its own jobs, with their tags, and asks how they are; they are named when they start",
        ),
        Permission(
            sid="JobRole",
            actions=("iam:PassRole",),
            resources=(features.role_arn,),
            conditions={"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}},
            reason="its jobs run with this role, and no other",
        ),
        *plan_permissions(features.training_plan_arn, place, sid="TrainingPlan"),
        *(_alarms(features.name, place) if features.alarms else ()),
        *_record(features),
        *_logging_and_tracing(),
    )


def _alarms(name: str, place: Place) -> tuple[Permission, ...]:
    return (
        Permission(
            sid="Alarms",
            actions=("cloudwatch:DeleteAlarms", "cloudwatch:PutMetricAlarm"),
            resources=(place.arn("cloudwatch", f"alarm:{name}-*"),),
            reason="each job has alarms of its own, named after it, as long as it lives",
        ),
    )


def _record(features: MachineFeatures) -> tuple[Permission, ...]:
    if features.table_arn is None:
        return ()
    read = Permission(
        sid="Decision",
        actions=("dynamodb:GetItem",),
        resources=(features.table_arn,),
        reason="it asks what the watch decided about a job that ended",
    )
    if features.table_key_arn is None:
        return (read,)
    decrypt = Permission(
        sid="DecisionKey",
        actions=("kms:Decrypt",),
        resources=(features.table_key_arn,),
        conditions={"StringLike": {"kms:ViaService": "dynamodb.*.amazonaws.com"}},
        reason="the watch's record is encrypted with a key of its own",
    )
    return (read, decrypt)


def _logging_and_tracing() -> tuple[Permission, ...]:
    """As the developer guide's pages on logging and on X-Ray have it; these actions know no resource."""
    return (
        Permission(
            sid="LogDelivery",
            actions=(
                "logs:CreateLogDelivery",
                "logs:DeleteLogDelivery",
                "logs:DescribeLogGroups",
                "logs:DescribeResourcePolicies",
                "logs:GetLogDelivery",
                "logs:ListLogDeliveries",
                "logs:PutResourcePolicy",
                "logs:UpdateLogDelivery",
            ),
            resources=("*",),
            reason="Step Functions has its log delivered; these actions know no narrower resource",
        ),
        Permission(
            sid="Traces",
            actions=(
                "xray:GetSamplingRules",
                "xray:GetSamplingTargets",
                "xray:PutTelemetryRecords",
                "xray:PutTraceSegments",
            ),
            resources=("*",),
            reason="executions are traced; X-Ray's actions know no resource",
        ),
    )


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
