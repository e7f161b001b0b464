"""Jobs that others start."""

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.watch_prefixes import check_watched_jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedJobs:
    """Jobs that notebooks, the SDK or a pipeline start: known by what their names begin with.

    Raises `FleetError`: LF989 for a prefix that no name begins with, or that catches what nobody meant; LF993 for a
    place of checkpoints that is none.
    """

    prefix: str
    """E.g. `alice-`, for the SDK's `base_job_name="alice-llama"`."""
    roles: Sequence[iam.IRole] = ()
    """What the jobs run as: the watch may pass these on, and no other. Needed where it restarts."""
    checkpoints: Sequence[str] = ()
    """S3 URIs below which the jobs keep checkpoints, e.g. `s3://my-bucket/alice`. Needed where it restarts."""
    keys: Sequence[kms.IKey] = ()
    """What encrypts those buckets, and volumes of the jobs. Default: none but the services' own."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_watched_jobs(self), subject="WatchedJobs")
