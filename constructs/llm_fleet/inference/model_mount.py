"""How the hosts of a service see its model in S3."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMount:
    """A folder of a bucket, mounted read-only on the host and shown to the container."""

    bucket_name: str
    """The bucket; may be a token."""
    prefix: str
    """Only keys below it, without slashes at its ends; empty for the whole bucket."""
    host_path: str
    """Where Mountpoint for Amazon S3 shows it on the host."""
    container_path: str
    """Where containers see it."""
    cache_gib: int
    """How much of it the host may keep on its disk."""
