"""A user of a cluster's nodes."""

from pydantic import Field

from llm_fleet.spec.model import NamedModel


class UserConfig(NamedModel):
    """A user with the same ids on every node. Its key is the login name. Nodes make and change users; they remove none.

    Files belong to ids, not to names: never change them, and never give them to another user.
    """

    uid: int = Field(examples=[2001])
    """User id, 1001 or more."""
    gid: int | None = None
    """Id of the user's primary group. Default: the user id, a group of the user's own."""
    sudo: bool = False
    """Whether the user may become root without a password. Default: no."""
    ssh_public_keys: tuple[str, ...] = Field(default=(), alias="ssh_keys")
    """Public SSH keys, each the line of a `.pub` file. Default: none; people come by Session Manager."""
    slurm_account: str | None = Field(default=None, alias="account")
    """Slurm account that the user's jobs are booked to. Default: none of the user's own."""
    home: str | None = None
    """Absolute path of the home, on a shared file system if there is one. Default: where the cluster has its homes."""
