"""Jobs that others start."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.spec.model import NamedModel
from llm_fleet.spec.values import KeyArn, RoleArn


class WatchedJobsConfig(NamedModel):
    """Jobs that notebooks, the SDK or a pipeline start (`WatchedJobsLike`)."""

    written_as: ClassVar[Mapping[str, str]] = {"prefix": "prefix", "roles": "roles", "keys": "keys"}

    own_prefix: str | None = Field(default=None, alias="prefix", examples=["alice-"])
    """What the jobs' names begin with. Default: the key and a hyphen."""
    role_arns: tuple[RoleArn, ...] = Field(default=(), alias="roles")
    """ARNs of what the jobs run as; the watch may pass on no other role. Default: none."""
    checkpoints: tuple[str, ...] = Field(default=(), examples=[["s3://my-bucket/alice"]])
    """S3 URIs below which the jobs keep checkpoints. Default: none."""
    key_arns: tuple[KeyArn, ...] = Field(default=(), alias="keys")
    """ARNs of the keys that encrypt those buckets, and volumes of the jobs. Default: none."""

    @property
    def prefix(self) -> str:
        """What the jobs' names begin with."""
        return f"{self.name}-" if self.own_prefix is None else self.own_prefix

    @property
    def roles(self) -> tuple[str, ...]:
        """What the jobs run as."""
        return self.role_arns
