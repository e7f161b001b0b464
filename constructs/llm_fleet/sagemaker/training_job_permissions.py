"""What a training job and its machine may do: roles, permissions, grants, and the cap of warm time."""

from collections.abc import Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.iam.resource_permissions import (
    change_bucket,
    grant_volumes,
    open_sessions,
    pull_images,
    read_bucket,
    stand_in_network,
)
from llm_fleet.iam.statements import BucketAccess, Permission, Place
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.problem import Problem, raise_problems

NAMESPACE = "/aws/sagemaker/TrainingJobs"
"""Of the metrics of all training jobs, and the name of their log group."""
_LOG_GROUP = f"log-group:{NAMESPACE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFeatures:
    """What a job is switched on to do. What is left out grants nothing."""

    source_arn: str | None = None
    """The archive of its script, an object in S3."""
    read: tuple[BucketAccess, ...] = ()
    """What its channels read."""
    write: tuple[BucketAccess, ...] = ()
    """Results, checkpoints, TensorBoard's files."""
    repository_arn: str | None = None
    """Of its image; `None` of one that needs no permission."""
    in_network: bool = False
    """Whether it stands in a network of the account's."""
    volume_key_arn: str | None = None
    """KMS key of the instances' volumes."""
    remote_debug: bool = False
    """Whether Session Manager opens a shell."""
    mlflow_arn: str | None = None
    """Where its experiment is recorded."""


def job_permissions(features: JobFeatures, place: Place) -> tuple[Permission, ...]:
    """Return every statement that a job with `features` needs at `place`, in a stable order."""
    repositories = [features.repository_arn] if features.repository_arn else []
    return (
        *_log_and_metrics(place),
        *pull_images(repositories, reason="SageMaker pulls the job's image, and no other"),
        *_source(features.source_arn),
        *_numbered_read(features.read),
        *_numbered_write(features.write),
        *(
            stand_in_network(
                place,
                reason="each instance gets an interface in the network's subnets; their ids do not exist before",
                lookup_reason="SageMaker checks the network before it places a job; EC2's Describe actions know no "
                "resource",
            )
            if features.in_network
            else ()
        ),
        *_volume_key(features.volume_key_arn),
        *(_shell() if features.remote_debug else ()),
        *_mlflow(features.mlflow_arn),
    )


def _log_and_metrics(place: Place) -> tuple[Permission, ...]:
    return (
        Permission(
            sid="Log",
            actions=("logs:CreateLogGroup", "logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"),
            resources=(place.arn("logs", f"{_LOG_GROUP}:*"), place.arn("logs", _LOG_GROUP)),
            reason="what the script prints; the group is one for all training jobs of the account, and its streams are "
            "named after the jobs",
        ),
        Permission(
            sid="Metrics",
            actions=("cloudwatch:PutMetricData",),
            resources=("*",),
            conditions={"StringEquals": {"cloudwatch:namespace": NAMESPACE}},
            reason="instances and metric definitions are measured; metrics have no ARN, so the namespace limits it",
        ),
    )


def _source(arn: str | None) -> tuple[Permission, ...]:
    if arn is None:
        return ()
    reason = "the container fetches the script before it starts, this version of it"
    return (Permission(sid="Source", actions=("s3:GetObject",), resources=(arn,), reason=reason),)


def _numbered_read(buckets: Sequence[BucketAccess]) -> tuple[Permission, ...]:
    reason = "a channel of the job reads it"
    return tuple(one for n, each in enumerate(buckets) for one in read_bucket(f"Read{n}", each, reason=reason))


def _numbered_write(buckets: Sequence[BucketAccess]) -> tuple[Permission, ...]:
    reason = "the job leaves results and checkpoints there, finds those of its run, and tidies up old ones"
    return tuple(one for n, each in enumerate(buckets) for one in change_bucket(f"Write{n}", each, reason=reason))


def _volume_key(key_arn: str | None) -> tuple[Permission, ...]:
    if key_arn is None:
        return ()
    return (
        grant_volumes(
            "VolumeKey",
            (key_arn,),
            reason="SageMaker lets the instances' volumes be encrypted with the key by a grant",
        ),
        Permission(
            sid="VolumeKeyUse",
            actions=("kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey"),
            resources=(key_arn,),
            reason="results are encrypted, and volumes opened, with it",
        ),
    )


def _shell() -> tuple[Permission, ...]:
    return (
        open_sessions("Shell", reason="Session Manager opens a shell in the container; these actions know no resource"),
    )


def _mlflow(arn: str | None) -> tuple[Permission, ...]:
    """Record an experiment, and delete none.

    Actions of the service `sagemaker-mlflow` (service authorization reference). An MLflow app is called through
    `sagemaker:CallMlflowAppApi`. assumption: mlflow-app-action
    """
    if arn is None:
        return ()
    write = ("CreateExperiment", "CreateRun", "LogBatch", "LogInputs", "LogMetric", "LogModel", "LogParam")
    write += ("SetExperimentTag", "SetTag", "UpdateRun")
    read = ("GetExperiment", "GetExperimentByName", "GetRun", "SearchExperiments", "SearchRuns")
    return (
        Permission(
            sid="Experiment",
            actions=(
                "sagemaker:CallMlflowAppApi",
                *sorted(f"sagemaker-mlflow:{action}" for action in (*write, *read)),
            ),
            resources=(arn,),
            reason="the job records its experiment, and deletes none",
        ),
    )


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
        *(_run_alarms(features.name, place) if features.alarms else ()),
        *_record(features),
        *_logging_and_tracing(),
    )


def _run_alarms(name: str, place: Place) -> tuple[Permission, ...]:
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


class WarmPoolCap(Construct):
    """A managed policy that denies jobs with a longer warm pool, to be attached to whoever starts jobs.

    It denies, where the guide on warm pools shows an Allow with `NumericLessThanIfExists`: an Allow caps nobody who has
    another one, e.g. of AmazonSageMakerFullAccess. A job without a warm pool sends no such key, and is not denied.
    Source: docs.aws.amazon.com/sagemaker/latest/dg/train-warm-pools-how-to-use.html
    """

    def __init__(self, scope: Construct, id: str, *, cap_seconds: int) -> None:
        """Deny a `KeepAlivePeriodInSeconds` above `cap_seconds`, in this account and region."""
        super().__init__(scope, id)
        stack = cdk.Stack.of(self)
        jobs = stack.format_arn(service="sagemaker", resource="training-job", resource_name="*")
        self.policy = iam.ManagedPolicy(
            self,
            "Resource",
            description=f"Caps warm pools of training jobs at {cap_seconds} seconds",
            statements=[
                iam.PolicyStatement(
                    sid="WarmPoolCap",
                    effect=iam.Effect.DENY,
                    actions=["sagemaker:CreateTrainingJob", "sagemaker:UpdateTrainingJob"],
                    resources=[jobs],
                    conditions={"NumericGreaterThan": {"sagemaker:KeepAlivePeriod": str(cap_seconds)}},
                )
            ],
        )
        """Attach it: `role.add_managed_policy(cap.policy)`."""
        acknowledge(self.policy, "It denies, and so for all jobs.", "AwsSolutions-IAM5")


_TARGET = "ssm:resourceTag/aws:ssmmessages:target-id"


class JobGrants:
    """What others may do with a job. Each method returns the `Grant`, whose `success` tells an imported role."""

    def __init__(self, job: Construct, *, name: str, state_machine_arn: str, remote_debug: bool) -> None:
        """Grant on the construct `job`, whose jobs' names begin with `name`; `remote_debug`: whether shells open."""
        self._job = job
        self._stack = cdk.Stack.of(job)
        self._name = name
        self._state_machine_arn = state_machine_arn
        self._remote_debug = remote_debug

    def start(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` start the job and see its runs; it needs no right on SageMaker, nor to pass a role."""
        started = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["states:StartExecution", "states:DescribeStateMachine", "states:ListExecutions"],
            resource_arns=[self._state_machine_arn],
        )
        return started.combine(
            iam.Grant.add_to_principal(
                grantee=grantee,
                actions=["states:DescribeExecution", "states:GetExecutionHistory", "states:StopExecution"],
                resource_arns=[self._executions],
            )
        )

    def stop(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` see the job's jobs and stop them: the end of an execution does not stop its job."""
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["sagemaker:DescribeTrainingJob", "sagemaker:StopTrainingJob"],
            resource_arns=[
                self._stack.format_arn(service="sagemaker", resource="training-job", resource_name=f"{name}-*")
                # assumption: sagemaker-arns-in-small-letters
                for name in dict.fromkeys((self._name, self._name.lower()))
            ],
        )

    def debug(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` open a shell in the containers of this job, and end it again.

        The session's target is limited by the condition of the guide on remote debugging; which resource the action is
        asked on is documented as `*` only. assumption: remote-debug-session-resource
        Raises `FleetError` (LF974) for a job whose description has no `remote_debug`.
        """
        if not self._remote_debug:
            problem = Problem(
                code=SageMakerCode.TRAINING_NO_SHELL,
                message="no shell can be opened in the containers of this job",
                path=("remote_debug",),
                remedy="write remote_debug=True into its TrainingJobSpec, or leave the grant out",
            )
            raise_problems([problem], subject=self._job.node.path)
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["ssm:ResumeSession", "ssm:StartSession", "ssm:TerminateSession"],
            resource_arns=["*"],
            conditions={"StringLike": {_TARGET: [f"sagemaker-training-job:{self._name}-*"]}},
        )

    @property
    def _executions(self) -> str:
        return self._stack.format_arn(
            service="states",
            resource="execution",
            resource_name=f"{self._name}:*",
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )


def plan_permissions(arn: str | None, place: Place, *, sid: str) -> tuple[Permission, ...]:
    """Return the statement for the training plan `arn`; none without a plan.

    CreateTrainingJob is asked on the plan and on its reserved capacity, too
    (docs.aws.amazon.com/sagemaker/latest/dg/training-plan-iam-permissions.html).
    """
    if arn is None:
        return ()
    return (
        Permission(
            sid=sid,
            actions=("sagemaker:CreateTrainingJob",),
            resources=(arn, place.arn("sagemaker", "reserved-capacity/*")),
            reason="the job runs on capacity that a training plan reserved; which part of it is, the plan alone knows",
        ),
    )
