"""Whether anybody would hold jobs to the limits of Slurm's accounts: slurm.conf must say so."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from llm_fleet.catalog.slurm import slurm_limit_facts
from llm_fleet.rules.feature_codes import PeopleCode
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import LifecycleHook, SlurmConfigStrategy
from llm_fleet.rules.tokens import is_unresolved

_ENFORCE = "accountingstorageenforce"


def check_hyperpod_enforces(hook: str | None, strategy: SlurmConfigStrategy | None) -> list[Problem]:
    """Return a problem where HyperPod would not let our line in slurm.conf stand.

    `hook`: when the controller runs our scripts; `OnCreate` makes slurm.conf ours. Else the AMI has written it, and
    with `Merge`, which Continuous provisioning implies, what is added to it stays.
    """
    if hook != LifecycleHook.ON_INIT_COMPLETE or strategy in (None, SlurmConfigStrategy.MERGE):
        return []
    return [
        _problem(
            f"limits hold only where slurm.conf has AccountingStorageEnforce, and {strategy} takes such a line out "
            "again, or has every update refused",
            "use Continuous provisioning or the strategy Merge, or let the controller run scripts by OnCreate",
        )
    ]


def check_parallelcluster_enforces(lines: Sequence[Mapping[str, Any]], file: str | None) -> Iterator[Problem]:
    """Yield what keeps ParallelCluster from enforcing limits: settings of the user's own, `lines` or in a `file`."""
    if file is not None:
        yield _problem(
            "limits hold only where slurm.conf has AccountingStorageEnforce, and nobody looks into a file of settings",
            "write the settings themselves in place of the file",
        )
    if is_unresolved(lines):
        return
    for line in lines:
        for key, value in line.items():
            missing = {*slurm_limit_facts().enforce} - {*str(value).lower().split(",")}
            if key.lower() == _ENFORCE and missing and not is_unresolved(value):
                yield _problem(
                    f"your own AccountingStorageEnforce lacks {' and '.join(sorted(missing))}, so no limit would hold",
                    "leave it out: it is written for you",
                )


def _problem(message: str, remedy: str) -> Problem:
    return Problem(code=PeopleCode.ENFORCE, message=message, remedy=remedy, path=("slurm_accounts",))
