"""An account of Slurm and its limits."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from llm_fleet.spec.model import NamedModel
from llm_fleet.spec.values import Quantity

_WALL = Quantity(noun="time", units={"min": 1, "h": 60, "days": 1440, "day": 1440}, example="2 days", usual="h")
WallMinutes = Annotated[int, _WALL]
"""Minutes, written as `30 min`, `24 h` or `2 days`."""


class SlurmAccountConfig(NamedModel):
    """An account that jobs are booked to, with its limits in Slurm's own words. Its key is its name.

    What is left out is no limit. Whoever has no account can submit no job on a cluster with such limits.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "limits": "write each limit as a key of the account, e.g. `max_jobs`",
        "users": "give each user their `account` under `users`",
        "max_nodes": "write `grp_tres: {node: 16}` for the account, or `max_tres_per_job: {node: 4}` for a job",
        "nodes": "write `grp_tres: {node: 16}`",
        "gpus": "write `grp_tres: {gres/gpu: 128}`",
        "max_time": "write `max_wall`",
    }

    parent: str | None = None
    """The account above it, whose limits hold for it, too. Default: Slurm's own `root`."""
    fairshare: int | None = None
    """Shares beside those of its neighbours. Default: 1, Slurm's own."""
    grp_jobs: int | None = None
    """Jobs of the whole account that run at one time. Default: no limit."""
    grp_submit_jobs: int | None = None
    """Jobs of the whole account that run or wait at one time. Default: no limit."""
    grp_tres: Mapping[str, int] = {}
    """What its running jobs have together at most, e.g. `{node: 16, gres/gpu: 128}`. Default: no limit."""
    max_jobs: int | None = None
    """Jobs of each user that run at one time. Default: no limit."""
    max_submit_jobs: int | None = None
    """Jobs of each user that run or wait at one time. Default: no limit."""
    max_tres_per_job: Mapping[str, int] = {}
    """What one job has at most, e.g. `{node: 4}`. Default: no limit."""
    max_wall_minutes: WallMinutes | None = Field(default=None, alias="max_wall")
    """How long a job may run, e.g. `2 days`. Default: no limit but the partition's."""
