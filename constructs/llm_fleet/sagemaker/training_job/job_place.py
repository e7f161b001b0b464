"""Where the jobs of a training job's description run, and by what names."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlace:
    """What the construct around a `TrainingJobSpec` knows of it. Every text may be a CDK token."""

    name: str
    """What stands for the job's name, which each start makes anew."""
    region: str
    """For the image's address; no token, unless the image is one's own."""
    role_arn: str
    """The role that the container has."""
    output_uri: str
    """Where results go unless the description says otherwise."""
    source_uri: str | None = None
    """`s3://…/sourcedir.tar.gz` with the source bundle; `None` without one."""
    checkpoint_uri: str | None = None
    """Where checkpoints go unless the description says otherwise."""
    subnet_ids: tuple[str, ...] = ()
    """Empty: in no network of the account's."""
    security_group_ids: tuple[str, ...] = ()
    volume_key_arn: str | None = None
    """Encrypts the volumes; those with local disks have keys of their own, and take none."""
    output_key_arn: str | None = None
    """Encrypts results, where they go to `output_uri`."""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of each job, beside those of the description."""
