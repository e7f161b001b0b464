"""Somebody who works in Studio."""

from pydantic import Field

from llm_fleet.spec.model import NamedModel
from llm_fleet.spec.values import RoleArn


class StudioUserConfig(NamedModel):
    """A user profile of Studio. Its key is its name, for good: another name is another user."""

    uid: int | None = Field(default=None, examples=[10001])
    """User id in file systems, 10000 or more. Default: that of the user of the same name on one of `clusters`, where
    Studio takes it; else the service's own, the same for everybody."""
    gid: int | None = None
    """Id of the group. Default: the user id, or the group's on the cluster."""
    identity: str | None = None
    """User name in IAM Identity Center, with `sign_in: SSO`. Default: none."""
    role_arn: RoleArn | None = Field(default=None, alias="role")
    """ARN of an existing role to act with, which stays as it is. Default: the one that Studio's people share."""
