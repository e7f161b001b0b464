"""An account of Slurm and its limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmAccount:
    """An account that jobs are booked to, with its place in the tree and its limits (an association of sacctmgr).

    Nothing is checked here: the cluster checks all its accounts together. What is left out is no limit, and the
    controller takes such a limit back where there is one; accounts, users and limits that are not of this list are
    left as people made them. Limits bind every user of the cluster: whoever has no account can then submit no job.
    """

    name: str
    """Lower-case letters, digits, dots, hyphens and underscores."""
    parent: str | None = None
    """The account above it, whose limits hold for it, too. Default: Slurm's own `root`."""
    fairshare: int | None = None
    """Shares beside those of its neighbours (`Fairshare`). Default: 1, Slurm's own."""
    grp_jobs: int | None = None
    """Jobs of the whole account that run at one time (`GrpJobs`). Default: no limit."""
    grp_submit_jobs: int | None = None
    """Jobs of the whole account that run or wait at one time (`GrpSubmitJobs`). Default: no limit."""
    grp_tres: Mapping[str, int] = field(default_factory=dict[str, int])
    """What its running jobs have together at most (`GrpTRES`), e.g. `{"node": 16, "gres/gpu": 128}`. Default: no limit.

    Nodes, `cpu`, `billing`; `mem` in MiB."""
    max_jobs: int | None = None
    """Jobs of each user that run at one time (`MaxJobs`). Default: no limit."""
    max_submit_jobs: int | None = None
    """Jobs of each user that run or wait at one time (`MaxSubmitJobs`). Default: no limit."""
    max_tres_per_job: Mapping[str, int] = field(default_factory=dict[str, int])
    """What one job has at most (`MaxTRESPerJob`), as in `grp_tres`. Default: no limit."""
    max_wall_minutes: int | None = None
    """Minutes that a job may run (`MaxWallDurationPerJob`). Default: no limit but the partition's."""
