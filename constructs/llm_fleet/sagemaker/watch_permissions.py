"""IAM permissions of the watch's function, and the policy that each job attaches to its role."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.iam.node_role import permission_policy
from llm_fleet.iam.resource_permissions import grant_volumes
from llm_fleet.iam.statements import Permission, Place
from llm_fleet.rules.buckets import bucket_and_prefix
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.sagemaker.training_job_permissions import plan_permissions

_USE_KEY = ("kms:Encrypt", "kms:Decrypt", "kms:ReEncryptFrom", "kms:ReEncryptTo", "kms:GenerateDataKey",
            "kms:DescribeKey")  # fmt: skip
_COPY = (
    "s3:GetObject",
    "s3:GetObjectTagging",
    "s3:PutObject",
    "s3:PutObjectTagging",
    "s3:AbortMultipartUpload",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchContext:
    """ARNs of the watch's resources; all may be tokens."""

    queue: str
    table: str
    open_index: str
    topic: str
    topic_key: str | None
    key: str
    alarm_prefix: str
    clusters: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobScope:
    """Resources of a job, or of jobs with one prefix, that the watch needs access to."""

    sid: str
    """Suffix of statement ids: letters and digits."""
    prefix: str
    """Prefix of the jobs' names, including the hyphen."""
    role_arns: Sequence[str]
    checkpoints: Sequence[tuple[str, str]]
    """Bucket names, and key prefixes without leading and trailing slashes."""
    key_arns: Sequence[str]
    training_plan_arn: str | None = None
    """ARN of the jobs' training plan."""


def watch_permissions(place: Place, around: WatchContext) -> tuple[Permission, ...]:
    """Return the function's permissions that do not depend on watched jobs."""
    return (
        Permission(
            sid="TakeEvents",
            actions=("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:SendMessage"),
            resources=(around.queue,),
            reason="Lambda receives events with this role; the function changes the visibility of waiting messages",
        ),
        Permission(
            sid="KeepRecord",
            actions=("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"),
            resources=(around.table,),
            reason="each decision is recorded before the function acts on it",
        ),
        Permission(
            sid="FindUnfinished",
            actions=("dynamodb:Query",),
            resources=(around.open_index,),
            reason="the sweep looks for actions that a crash interrupted",
        ),
        Permission(
            sid="Notify", actions=("sns:Publish",), resources=(around.topic,), reason="each decision is published"
        ),
        Permission(
            sid="UseKeys",
            actions=_USE_KEY,
            resources=tuple(dict.fromkeys([around.key, *([around.topic_key] if around.topic_key else [])])),
            reason="queue, record and topic are encrypted",
        ),
        Permission(
            sid="FindJobs",
            actions=("sagemaker:ListTrainingJobs",),
            resources=("*",),
            reason="the sweep looks for jobs that ended without an event; List actions support no resource",
        ),
        Permission(
            sid="MakeAlarms",
            actions=("cloudwatch:PutMetricAlarm", "cloudwatch:DeleteAlarms"),
            resources=(place.arn("cloudwatch", f"alarm:{around.alarm_prefix}*"),),
            reason="each training job has its own alarms, which are deleted when it ends",
        ),
        Permission(
            sid="FindAlarms",
            actions=("cloudwatch:DescribeAlarms",),
            resources=(place.arn("cloudwatch", "alarm:*"),),
            reason="alarms are found by their name prefix, for which IAM has no narrower resource",
        ),
        *_cluster_permissions(around.clusters),
    )


def job_permissions(place: Place, job: JobScope) -> tuple[Permission, ...]:
    """Return the function's permissions for the jobs of `job`."""
    # A job's name is in lowercase in its ARN, and IAM is case-sensitive.
    # assumption: sagemaker-arns-in-small-letters
    prefixes = tuple(dict.fromkeys([job.prefix, job.prefix.lower()]))
    return (
        Permission(
            sid=f"Restart{job.sid}",
            actions=(
                "sagemaker:DescribeTrainingJob",
                "sagemaker:ListTags",
                "sagemaker:StopTrainingJob",
                "sagemaker:CreateTrainingJob",
                "sagemaker:AddTags",
            ),
            resources=tuple(place.arn("sagemaker", f"training-job/{prefix}*") for prefix in prefixes),
            reason="it describes and stops these jobs, and restarts them with the same name prefix",
        ),
        *plan_permissions(job.training_plan_arn, place, sid=f"TrainingPlan{job.sid}"),
        *_role_permissions(job),
        *(
            statement
            for number, at in enumerate(job.checkpoints)
            for statement in _checkpoint_permissions(place, job, at, number)
        ),
        *_key_permissions(job),
    )


def _cluster_permissions(clusters: Sequence[str]) -> Sequence[Permission]:
    if not clusters:
        return ()
    return (
        Permission(
            sid="AskClusters",
            actions=("sagemaker:DescribeCluster", "sagemaker:DescribeClusterEvent"),
            resources=tuple(clusters),
            reason="events omit the reason of a failure, which the Describe actions return",
        ),
    )


def _role_permissions(job: JobScope) -> Sequence[Permission]:
    if not job.role_arns:
        return ()
    return (
        Permission(
            sid=f"PassRole{job.sid}",
            actions=("iam:PassRole",),
            resources=tuple(job.role_arns),
            conditions={"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}},
            reason="a restarted job has the execution role of the failed one",
        ),
    )


def _checkpoint_permissions(place: Place, job: JobScope, at: tuple[str, str], number: int) -> Sequence[Permission]:
    bucket, prefix = at
    bucket_arn = f"arn:{place.partition}:s3:::{bucket}"
    suffix = f"{job.sid}{number or ''}"
    return (
        Permission(
            sid=f"FindCheckpoints{suffix}",
            actions=("s3:ListBucket",),
            resources=(bucket_arn,),
            conditions={"StringLike": {"s3:prefix": [f"{prefix}/*", prefix]}},
            reason="it finds the last good checkpoint by name and age",
        ),
        Permission(
            sid=f"CopyCheckpoints{suffix}",
            actions=_COPY,
            resources=(f"{bucket_arn}/{prefix}/*",),
            reason="it copies the checkpoint from before the problem to its own prefix, next to the bad ones",
        ),
    )


def _key_permissions(job: JobScope) -> Sequence[Permission]:
    if not job.key_arns:
        return ()
    keys = tuple(job.key_arns)
    return (
        Permission(
            sid=f"UseKeys{job.sid}",
            actions=("kms:Decrypt", "kms:GenerateDataKey", "kms:DescribeKey"),
            resources=keys,
            reason="checkpoints, and volumes of jobs, are encrypted",
        ),
        grant_volumes(
            f"LetSageMaker{job.sid}",
            keys,
            # assumption: training-job-caller-creates-grant
            reason="the caller that creates a job with an encrypted volume creates the key's grant for SageMaker",
        ),
    )


def attach_job_policy(scope: Construct, role: iam.IRole, job: JobScope) -> iam.ManagedPolicy:
    """Create a policy in `scope`, in the job's stack, and attach it to the watch's `role`.

    The watch's stack does not refer to jobs, so there is no circular dependency; the policy is deleted with the job.
    """
    permissions = job_permissions(Place.of(scope), job)
    return permission_policy(
        scope, "WatchPolicy", permissions, description="Permissions of the watch for this training job", roles=[role]
    )


def split_places(uris: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return bucket and prefix of each S3 URI, both of which may be tokens; the prefix without slashes at its ends.

    Raises `FleetError` (LF993) for a URI that is one token as a whole, which a policy cannot use.
    """
    raise_problems([_unknown_place(uri) for uri in uris if not uri.startswith("s3://")])
    return tuple(map(bucket_and_prefix, uris))


def _unknown_place(uri: str) -> Problem:
    return Problem(
        code=SageMakerCode.WATCH_OTHERS,
        path=("checkpoint_uri",),
        value=uri,
        message="the checkpoint URI is one CDK token, so the watch's IAM policy cannot be created",
        allowed="s3:// with a bucket's name and a prefix, each of which may be a token",
        remedy='write f"s3://{bucket.bucket_name}/checkpoints"',
    )


def statement_suffix(prefix: str) -> str:
    """Return `prefix` with only letters and digits, as statement ids require."""
    return "".join(part.capitalize() for part in re.split(r"[^A-Za-z0-9]+", prefix) if part)
