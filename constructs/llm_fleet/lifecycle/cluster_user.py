"""A user of a cluster's nodes."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterUser:
    """A POSIX user with the same ids on every node, and its Slurm account.

    Nothing is checked here: the cluster checks all its users together. Files belong to ids, not to names: never change
    the ids of a user, and never give them to another one. Nodes make and change users; they remove none.
    """

    name: str
    """Login name: 1 to 32 lower-case letters, digits, hyphens and underscores."""
    uid: int
    """User id, 1001 or more."""
    gid: int | None = None
    """Id of the user's primary group. Default: that of the user id, a group of the user's own."""
    sudo: bool = False
    """Whether the user may become root by `sudo` without a password."""
    ssh_public_keys: Sequence[str] = ()
    """Lines of `authorized_keys`. Default: none; people come by Session Manager and `sudo -iu <name>`."""
    slurm_account: str | None = None
    """The Slurm account that the user's jobs are booked to. Default: none of the user's own."""
    home: str | None = None
    """Absolute path of the home. Default: a folder of the user's name where the cluster has its homes.

    That is the file system mounted at /home, else `<mount>/home` on OpenZFS, else on Lustre, else each node's /home.
    """
