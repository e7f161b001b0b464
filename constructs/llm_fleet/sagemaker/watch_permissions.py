"""What the watch's function may do, statement by statement, and the policy that one job brings its role."""

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
    """ARNs of what the watch works with; all may be tokens."""

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
    """What a job, or jobs with one prefix, have that the watch must reach."""

    sid: str
    """What the statement ids end with: letters and digits."""
    prefix: str
    """What the jobs' names begin with, with its hyphen."""
    role_arns: Sequence[str]
    checkpoints: Sequence[tuple[str, str]]
    """Buckets' names, and prefixes of keys without slashes at either end."""
    key_arns: Sequence[str]
    training_plan_arn: str | None = None
    """Capacity that the jobs run on."""


def watch_permissions(place: Place, around: WatchContext) -> tuple[Permission, ...]:
    """Return what the function may do for itself, whatever it watches."""
    return (
        Permission(
            sid="TakeEvents",
            actions=("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:SendMessage"),
            resources=(around.queue,),
            reason="Lambda takes events from the queue as this role; the function itself puts back what must wait",
        ),
        Permission(
            sid="KeepRecord",
            actions=("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"),
            resources=(around.table,),
            reason="each decision is written down before it is carried out",
        ),
        Permission(
            sid="FindUnfinished",
            actions=("dynamodb:Query",),
            resources=(around.open_index,),
            reason="the sweep looks for what a crash left half done",
        ),
        Permission(
            sid="Tell", actions=("sns:Publish",), resources=(around.topic,), reason="each decision is told to people"
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
            reason="the sweep looks for jobs that ended without an event; listing knows no resource",
        ),
        Permission(
            sid="MakeAlarms",
            actions=("cloudwatch:PutMetricAlarm", "cloudwatch:DeleteAlarms"),
            resources=(place.arn("cloudwatch", f"alarm:{around.alarm_prefix}*"),),
            reason="each job that trains has alarms of its own, which go when it ends",
        ),
        Permission(
            sid="FindAlarms",
            actions=("cloudwatch:DescribeAlarms",),
            resources=(place.arn("cloudwatch", "alarm:*"),),
            reason="alarms are found by the beginning of their names, for which IAM has no narrower form",
        ),
        *_cluster_permissions(around.clusters),
    )


def job_permissions(place: Place, job: JobScope) -> tuple[Permission, ...]:
    """Return what the function may do to the jobs of `job`."""
    # SageMaker writes a job's name in small letters into its ARN, and IAM tells letters by their case.
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
            reason="these jobs are looked at, stopped, and made anew with a name that begins alike",
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
            reason="events leave out why something failed, and the service tells who asks",
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
            reason="a job that is made anew runs as what the failed one ran as",
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
            reason="the last good checkpoint is found by its name and age",
        ),
        Permission(
            sid=f"CopyCheckpoints{suffix}",
            actions=_COPY,
            resources=(f"{bucket_arn}/{prefix}/*",),
            reason="the checkpoint before the trouble is copied to a place of its own, beside the bad ones",
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
            reason="who makes a job with an encrypted volume grants SageMaker the key of it",
        ),
    )


def attach_job_policy(scope: Construct, role: iam.IRole, job: JobScope) -> iam.ManagedPolicy:
    """Make a policy below `scope`, in the stack of the job, and attach it to the watch's `role`.

    The watch's stack is made first and knows no job: so there is no circle, and the right goes when the job goes.
    """
    permissions = job_permissions(Place.of(scope), job)
    return permission_policy(
        scope, "WatchPolicy", permissions, description="What the watch may do to this training job", roles=[role]
    )


def split_places(uris: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return bucket and prefix of each S3 URI, both of which may be tokens; the prefix without slashes at its ends.

    Raises `FleetError` (LF993) for one that is known only at deployment as a whole: no policy could be made of it.
    """
    raise_problems([_unknown_place(uri) for uri in uris if not uri.startswith("s3://")])
    return tuple(map(bucket_and_prefix, uris))


def _unknown_place(uri: str) -> Problem:
    return Problem(
        code=SageMakerCode.WATCH_OTHERS,
        path=("checkpoint_uri",),
        value=uri,
        message="where the checkpoints lie is known only at deployment, and the watch may reach no other place",
        allowed="s3:// with a bucket's name and a prefix, each of which may be a token",
        remedy='write f"s3://{bucket.bucket_name}/checkpoints"',
    )


def statement_suffix(prefix: str) -> str:
    """Return `prefix` in letters and digits, as statement ids must be."""
    return "".join(part.capitalize() for part in re.split(r"[^A-Za-z0-9]+", prefix) if part)
