"""What is wrong with what nodes are set up with, as far as files beside the program tell."""

from collections.abc import Sequence
from pathlib import Path

from llm_fleet.lifecycle.node_setup import NodeSetup
from llm_fleet.lifecycle.own_step import OwnStep
from llm_fleet.named_files.lock_file import locked_files
from llm_fleet.named_files.own_scripts import own_scripts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.monitoring.metrics import check_metrics
from llm_fleet.rules.own_steps import check_own_scripts
from llm_fleet.rules.people.check import PeopleSettings, check_people
from llm_fleet.rules.people.directory import SSSD_PACKAGES
from llm_fleet.rules.pinned_packages import check_neuron_pinned
from llm_fleet.rules.problem import PathPart, Problem


def check_downloads(setup: NodeSetup) -> list[Problem]:
    """Return what is wrong with the downloads of `setup`, and what its Neuron SDK misses among them."""
    downloads = setup.downloads
    problems = [problem.under("downloads") for problem in downloads.problems()]
    if problems or setup.neuron is None or not setup.neuron.install:
        return problems
    files = None if downloads.lock is None else locked_files(downloads.lock)
    return [problem.under("neuron") for problem in check_neuron_pinned(setup.neuron.release, files)]


def check_people_of(setup: NodeSetup, *, has_accounting: bool, on_parallelcluster: bool) -> list[Problem]:
    """Return what is wrong with the accounts and the directory of `setup`."""
    lock = setup.downloads.lock
    pinned = None
    if lock is not None:
        # One that cannot be read is told where it is named.
        unread = setup.downloads.problems()
        pinned = SSSD_PACKAGES if unread else [str(file["name"]) for file in locked_files(lock)]
    return check_people(
        PeopleSettings(
            users=setup.users,
            slurm_accounts=setup.slurm_accounts,
            directory=setup.directory,
            has_accounting=has_accounting,
            on_parallelcluster=on_parallelcluster,
            pinned=pinned,
        )
    )


def check_node_metrics(setup: NodeSetup, region: str | None) -> list[Problem]:
    """Return what is wrong with where the metrics of nodes in `region` go."""
    if setup.metrics is None:
        return []
    return [problem.under("metrics") for problem in check_metrics(setup.metrics, region=region)]


def check_own_step_files(own_steps: Sequence[OwnStep], folder: Path | None) -> list[Problem]:
    """Return what is wrong with the scripts of `own_steps` in `folder`."""
    if folder is not None and not folder.is_dir():
        return [_no_folder(folder)]
    named = {step.script for step in own_steps}
    return check_own_scripts(own_steps, None if folder is None else own_scripts(folder, named))


def given_for_nodes(
    setup: NodeSetup, *, skip_steps: Sequence[str], own_steps: Sequence[OwnStep]
) -> dict[tuple[PathPart, ...], bool]:
    """Return, by its path, whether the user has given each thing that only nodes with scripts are told of."""
    return {
        ("users",): bool(setup.users),
        ("slurm_accounts",): bool(setup.slurm_accounts),
        ("directory",): setup.directory is not None,
        ("s3_mounts",): bool(setup.s3_mounts),
        ("neuron",): setup.neuron is not None,
        ("training",): setup.training is not None,
        ("metrics",): setup.metrics is not None,
        ("downloads",): setup.downloads.source != "none",
        ("skip_steps",): bool(skip_steps),
        ("own_steps",): bool(own_steps),
    }


def _no_folder(folder: Path) -> Problem:
    return Problem(
        code=Code.STEP_SCRIPT,
        message="there is no such folder of own scripts",
        remedy="give the path of a folder as `own_scripts`",
        value=str(folder),
    )
