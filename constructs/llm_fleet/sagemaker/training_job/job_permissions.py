"""What the containers of a training job may do, and SageMaker for them. Each statement with its reason.

From the developer guide's page on roles ("CreateTrainingJob API: Execution Role Permissions"), narrowed to this job.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from llm_fleet.iam.resource_permissions import change_bucket, pull_images, read_bucket
from llm_fleet.iam.statements import BucketAccess, Permission, Place
from llm_fleet.sagemaker.training_job.run_alarms import NAMESPACE

_LOG_GROUP = "log-group:/aws/sagemaker/TrainingJobs"


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
        *(_network(place) if features.in_network else ()),
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


def _network(place: Place) -> tuple[Permission, ...]:
    """Place network interfaces: the guide writes `*` for all; we scope the ones that know resources."""
    kinds = ("network-interface", "security-group", "subnet")
    return (
        Permission(
            sid="NetworkInterfaces",
            actions=(
                "ec2:CreateNetworkInterface",
                "ec2:CreateNetworkInterfacePermission",
                "ec2:DeleteNetworkInterface",
                "ec2:DeleteNetworkInterfacePermission",
            ),
            resources=tuple(place.arn("ec2", f"{kind}/*") for kind in kinds),
            reason="each instance gets an interface in the network's subnets; their ids do not exist before",
        ),
        Permission(
            sid="NetworkLookup",
            actions=(
                "ec2:DescribeDhcpOptions",
                "ec2:DescribeNetworkInterfaces",
                "ec2:DescribeSecurityGroups",
                "ec2:DescribeSubnets",
                "ec2:DescribeVpcs",
            ),
            resources=("*",),
            reason="SageMaker checks the network before it places a job; EC2's Describe actions know no resource",
        ),
    )


def _volume_key(key_arn: str | None) -> tuple[Permission, ...]:
    if key_arn is None:
        return ()
    return (
        Permission(
            sid="VolumeKey",
            actions=("kms:CreateGrant",),
            resources=(key_arn,),
            conditions={"Bool": {"kms:GrantIsForAWSResource": "true"}},
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
        Permission(
            sid="Shell",
            actions=(
                "ssmmessages:CreateControlChannel",
                "ssmmessages:CreateDataChannel",
                "ssmmessages:OpenControlChannel",
                "ssmmessages:OpenDataChannel",
            ),
            resources=("*",),
            reason="Session Manager opens a shell in the container; these actions know no resource",
        ),
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
