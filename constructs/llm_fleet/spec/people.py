"""People on nodes: users with the same ids everywhere, and Slurm's accounts with their limits."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from llm_fleet.spec.shape import OWN_KEY
from llm_fleet.spec.spec import Spec
from llm_fleet.spec.values import Quantity, Several

_WALL = Quantity(noun="time", units={"min": 1, "h": 60, "days": 1440, "day": 1440}, example="2 days", usual="h")
WallMinutes = Annotated[int, _WALL]
"""Minutes, written as `30 min`, `24 h` or `2 days`."""


class ClusterUser(Spec):
    """A POSIX user with the same ids on every node. In a fleet file its key is the login name.

    The cluster checks all its users together. Files belong to ids, not to names: never change the ids of a user, and
    never give them to another one. Nodes make and change users; they remove none.
    """

    name: Annotated[str, Field(alias=OWN_KEY)]
    """Login name: 1 to 32 lower-case letters, digits, hyphens and underscores."""
    uid: Annotated[int, Field(examples=[2001])]
    """User id, 1001 or more."""
    gid: int | None = None
    """Id of the user's primary group. Default: the user id, a group of the user's own."""
    sudo: bool = False
    """Whether the user may become root without a password. Default: no."""
    ssh_public_keys: Annotated[Several[str], Field(alias="ssh_keys")] = ()
    """Public SSH keys, each the line of a `.pub` file. Default: none; people come by Session Manager."""
    slurm_account: Annotated[str | None, Field(alias="account")] = None
    """Slurm account that the user's jobs are booked to. Default: none of the user's own."""
    home: str | None = None
    """Absolute path of the home, on a shared file system if there is one. Default: where the cluster has its homes.

    That is a folder of the user's name on the file system mounted at /home, else in `<mount>/home` on OpenZFS, else on
    Lustre, else in each node's /home."""


class SlurmAccount(Spec):
    """An account that jobs are booked to, with its limits in Slurm's own words. In a fleet file its key is its name.

    The cluster checks all its accounts together. What is left out is no limit, and the controller takes such a limit
    back where there is one; accounts, users and limits that are not of this list are left as people made them. Limits
    bind every user of the cluster: without an account no one can then submit a job.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "limits": "write each limit as a key of the account, e.g. `max_jobs`",
        "users": "give each user their `account` under `users`",
        "max_nodes": "write `grp_tres: {node: 16}` for the account, or `max_tres_per_job: {node: 4}` for a job",
        "nodes": "write `grp_tres: {node: 16}`",
        "gpus": "write `grp_tres: {gres/gpu: 128}`",
        "max_time": "write `max_wall`",
    }

    name: Annotated[str, Field(alias=OWN_KEY)]
    """Lower-case letters, digits, dots, hyphens and underscores."""
    parent: str | None = None
    """The account above it, whose limits hold for it, too. Default: Slurm's own `root`."""
    fairshare: int | None = None
    """Shares beside those of its neighbours. Default: 1, Slurm's own."""
    grp_jobs: int | None = None
    """Jobs of the whole account that run at one time. Default: no limit."""
    grp_submit_jobs: int | None = None
    """Jobs of the whole account that run or wait at one time. Default: no limit."""
    grp_tres: Mapping[str, int] = {}
    """What its running jobs have together at most, e.g. `{node: 16, gres/gpu: 128}`. Default: no limit.

    Nodes, `cpu`, `billing`; `mem` in MiB."""
    max_jobs: int | None = None
    """Jobs of each user that run at one time. Default: no limit."""
    max_submit_jobs: int | None = None
    """Jobs of each user that run or wait at one time. Default: no limit."""
    max_tres_per_job: Mapping[str, int] = {}
    """What one job has at most, e.g. `{node: 4}`. Default: no limit."""
    max_wall_minutes: Annotated[WallMinutes | None, Field(alias="max_wall")] = None
    """How long a job may run, e.g. `2 days`. Default: no limit but the partition's."""
