"""IAM permissions of a training job and its state machine: roles, permissions, grants, and the warm pool cap."""

from collections.abc import Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.iam.resource_permissions import (
    change_bucket,
    grant_volumes,
    network_interface_permissions,
    open_sessions,
    pull_images,
    read_bucket,
)
from llm_fleet.iam.statements import BucketAccess, Permission, Place
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.problem import Problem, raise_problems

NAMESPACE = "/aws/sagemaker/TrainingJobs"
"""CloudWatch namespace of the metrics of all training jobs, and the name of their log group."""
_LOG_GROUP = f"log-group:{NAMESPACE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFeatures:
    """Features of a job that require permissions. Omitted features grant nothing."""

    source_arn: str | None = None
    """ARN of the archive with its script in S3."""
    read: tuple[BucketAccess, ...] = ()
    """Buckets of its channels."""
    write: tuple[BucketAccess, ...] = ()
    """Buckets of results, checkpoints and TensorBoard files."""
    repository_arn: str | None = None
    """ECR repository of its image; `None` for an image that needs no permission."""
    in_network: bool = False
    """Whether it is in a VPC of the account."""
    volume_key_arn: str | None = None
    """KMS key of the instances' volumes."""
    remote_debug: bool = False
    """Whether users can open a shell through Session Manager."""
    mlflow_arn: str | None = None
    """MLflow app or tracking server of its experiment."""


def job_permissions(features: JobFeatures, place: Place) -> tuple[Permission, ...]:
    """Return all statements that a job with `features` needs at `place`, in a stable order."""
    repositories = [features.repository_arn] if features.repository_arn else []
    return (
        *_log_and_metrics(place),
        *pull_images(repositories, reason="SageMaker pulls only the job's image"),
        *_source(features.source_arn),
        *_numbered_read(features.read),
        *_numbered_write(features.write),
        *(
            network_interface_permissions(
                place,
                reason="each instance gets a network interface in the subnets; the ids do not exist yet",
                lookup_reason="SageMaker checks the network before it places a job; EC2's Describe actions support no "
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
            reason="output of the script; all training jobs of the account share the log group, and its streams are "
            "named after the jobs",
        ),
        Permission(
            sid="Metrics",
            actions=("cloudwatch:PutMetricData",),
            resources=("*",),
            conditions={"StringEquals": {"cloudwatch:namespace": NAMESPACE}},
            reason="metrics of instances and metric definitions; metrics have no ARN, so the namespace limits it",
        ),
    )


def _source(arn: str | None) -> tuple[Permission, ...]:
    if arn is None:
        return ()
    reason = "the container downloads this version of the script before it starts"
    return (Permission(sid="Source", actions=("s3:GetObject",), resources=(arn,), reason=reason),)


def _numbered_read(buckets: Sequence[BucketAccess]) -> tuple[Permission, ...]:
    reason = "a channel of the job reads it"
    return tuple(one for n, each in enumerate(buckets) for one in read_bucket(f"Read{n}", each, reason=reason))


def _numbered_write(buckets: Sequence[BucketAccess]) -> tuple[Permission, ...]:
    reason = "the job writes results and checkpoints, reads those of its run, and deletes old ones"
    return tuple(one for n, each in enumerate(buckets) for one in change_bucket(f"Write{n}", each, reason=reason))


def _volume_key(key_arn: str | None) -> tuple[Permission, ...]:
    if key_arn is None:
        return ()
    return (
        grant_volumes(
            "VolumeKey",
            (key_arn,),
            reason="SageMaker encrypts the instances' volumes with the key through a grant",
        ),
        Permission(
            sid="VolumeKeyUse",
            actions=("kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey"),
            resources=(key_arn,),
            reason="results are encrypted and volumes decrypted with it",
        ),
    )


def _shell() -> tuple[Permission, ...]:
    return (
        open_sessions("Shell", reason="Session Manager opens shells in containers; these actions support no resource"),
    )


def _mlflow(arn: str | None) -> tuple[Permission, ...]:
    """Return permissions to record an experiment, not to delete one.

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
            reason="the job records its experiment, but cannot delete one",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFeatures:
    """Features of a state machine that require permissions."""

    name: str
    """Prefix of its jobs and alarms, before a hyphen."""
    role_arn: str
    """Execution role of the jobs."""
    alarms: bool
    """Whether its jobs have alarms."""
    table_arn: str | None = None
    """ARN of the watch's table of decisions."""
    table_key_arn: str | None = None
    """KMS key of that table."""
    training_plan_arn: str | None = None
    """ARN of the training plan of its jobs."""


def machine_permissions(features: MachineFeatures, place: Place) -> tuple[Permission, ...]:
    """Return all statements that a state machine with `features` needs at `place`, in a stable order."""
    # Job names are in lowercase in ARNs.
    names = dict.fromkeys((features.name, features.name.lower()))
    jobs = tuple(place.arn("sagemaker", f"training-job/{name}-*") for name in names)
    return (
        Permission(
            sid="Jobs",
            actions=("sagemaker:AddTags", "sagemaker:CreateTrainingJob", "sagemaker:DescribeTrainingJob"),
            resources=jobs,
            reason="it starts its own jobs with tags and describes them; the names are set at the start",
        ),
        Permission(
            sid="JobRole",
            actions=("iam:PassRole",),
            resources=(features.role_arn,),
            conditions={"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}},
            reason="its jobs run only with this role",
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
            reason="each job has its own alarms, named after it, while it runs",
        ),
    )


def _record(features: MachineFeatures) -> tuple[Permission, ...]:
    if features.table_arn is None:
        return ()
    read = Permission(
        sid="Decision",
        actions=("dynamodb:GetItem",),
        resources=(features.table_arn,),
        reason="it reads the watch's decision about a job that ended",
    )
    if features.table_key_arn is None:
        return (read,)
    decrypt = Permission(
        sid="DecisionKey",
        actions=("kms:Decrypt",),
        resources=(features.table_key_arn,),
        conditions={"StringLike": {"kms:ViaService": "dynamodb.*.amazonaws.com"}},
        reason="the watch's record is encrypted with its own key",
    )
    return (read, decrypt)


def _logging_and_tracing() -> tuple[Permission, ...]:
    """From the developer guide's pages on logging and X-Ray; these actions support no resource."""
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
            reason="Step Functions sets up log delivery; these actions support no narrower resource",
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
            reason="executions are traced; X-Ray's actions support no resource",
        ),
    )


class WarmPoolCap(Construct):
    """A managed policy that denies jobs with a longer warm pool; attach it to users and roles that start jobs.

    It denies, although the guide on warm pools shows an Allow with `NumericLessThanIfExists`: such an Allow does not
    limit users with another one, e.g. from AmazonSageMakerFullAccess. A job without a warm pool does not send the key
    and is not denied.
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
        """Attach it with `role.add_managed_policy(cap.policy)`."""
        acknowledge(self.policy, "It is a Deny, so it applies to all jobs.", "AwsSolutions-IAM5")


_TARGET = "ssm:resourceTag/aws:ssmmessages:target-id"


class JobGrants:
    """Grants on a job. Each method returns the `Grant`; its `success` is `False` for an imported role."""

    def __init__(self, job: Construct, *, name: str, state_machine_arn: str, remote_debug: bool) -> None:
        """Create grants on the construct `job`, whose job names begin with `name`."""
        self._job = job
        self._stack = cdk.Stack.of(job)
        self._name = name
        self._state_machine_arn = state_machine_arn
        self._remote_debug = remote_debug

    def start(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` start the job and see its runs, without permissions for SageMaker or `iam:PassRole`."""
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
        """Let `grantee` describe and stop the training jobs: aborting an execution does not stop its job."""
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
        """Let `grantee` open shells in the containers of this job and terminate the sessions.

        The condition from the guide on remote debugging limits the session's target; the documented resource of the
        action is only `*`. assumption: remote-debug-session-resource
        Raises `FleetError` (LF974) for a job without `remote_debug`.
        """
        if not self._remote_debug:
            problem = Problem(
                code=SageMakerCode.TRAINING_NO_SHELL,
                message="`remote_debug` is not set, so a shell cannot be opened in the job's containers",
                path=("remote_debug",),
                remedy="set remote_debug=True in its TrainingJobSpec, or remove the grant",
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

    IAM also checks CreateTrainingJob on the plan and on its reserved capacity
    (docs.aws.amazon.com/sagemaker/latest/dg/training-plan-iam-permissions.html).
    """
    if arn is None:
        return ()
    return (
        Permission(
            sid=sid,
            actions=("sagemaker:CreateTrainingJob",),
            resources=(arn, place.arn("sagemaker", "reserved-capacity/*")),
            reason="the job runs on reserved capacity of a training plan; SageMaker selects which part",
        ),
    )
