"""All rules about the people of one cluster. One rule for all doors."""

from collections.abc import Sequence
from dataclasses import dataclass

from llm_fleet.rules.people.directory import check_directory, check_sssd_packages
from llm_fleet.rules.people.slurm_accounts import check_slurm_accounts
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.people import ClusterUser, Directory, SlurmAccount


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleSettings:
    """What a cluster is told of people, and what of the cluster it must go with."""

    users: Sequence[ClusterUser]
    slurm_accounts: Sequence[SlurmAccount]
    directory: Directory | None
    certificate_text: str | None
    """The authority of the directory, where it goes to the nodes; empty for a file that cannot be read."""
    has_accounting: bool
    """Whether Slurm keeps records."""
    on_parallelcluster: bool
    """Whether the platform asks a directory by itself."""
    pinned: Sequence[str] | None
    """Names of the packages that nodes may fetch; `None` where they fetch nothing, or the lock file cannot be read."""


def check_people(settings: PeopleSettings) -> list[Problem]:
    """Return everything that is wrong with `settings`, by their attributes and indices."""
    found = check_slurm_accounts(settings.slurm_accounts, settings.users, has_accounting=settings.has_accounting)
    directory = settings.directory
    if directory is None:
        return found
    told = check_directory(
        directory,
        settings.users,
        certificate_text=settings.certificate_text,
        on_parallelcluster=settings.on_parallelcluster,
    )
    if not (settings.on_parallelcluster or directory.sssd_on_image):
        told += check_sssd_packages(settings.pinned)
    return [*found, *(problem.under("directory") for problem in told)]
