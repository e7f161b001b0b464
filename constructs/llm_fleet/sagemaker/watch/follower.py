"""The policy that one job brings the watch's role."""

import re
from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.acknowledge import acknowledge_wildcards
from llm_fleet.iam.statements import Place, reasons_of, statement_of
from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.sagemaker.watch.watch_permissions import JobScope, job_permissions


def place_of(scope: Construct) -> Place:
    """Return where the ARNs of a policy in the stack of `scope` point."""
    stack = cdk.Stack.of(scope)
    return Place(partition=stack.partition, region=stack.region, account=stack.account)


def attach_job_policy(scope: Construct, role: iam.IRole, job: JobScope) -> iam.ManagedPolicy:
    """Make a policy below `scope`, in the stack of the job, and attach it to the watch's `role`.

    The watch's stack is made first and knows no job: so there is no circle, and the right goes when the job goes.
    """
    permissions = job_permissions(place_of(scope), job)
    policy = iam.ManagedPolicy(
        scope,
        "WatchPolicy",
        description="What the watch may do to this training job",
        statements=[statement_of(permission) for permission in permissions],
        roles=[role],
    )
    acknowledge_wildcards(policy, lambda: reasons_of(permissions))
    return policy


def split_places(uris: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return bucket and prefix of each S3 URI, both of which may be tokens; the prefix without slashes at its ends.

    Raises `FleetError` (LF993) for one that is known only at deployment as a whole: no policy could be made of it.
    """
    raise_problems([_unknown_place(uri) for uri in uris if not uri.startswith("s3://")])
    found: list[tuple[str, str]] = []
    for uri in uris:
        bucket, _, prefix = uri.removeprefix("s3://").partition("/")
        found.append((bucket, prefix.strip("/")))
    return tuple(found)


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
