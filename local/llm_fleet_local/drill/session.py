"""Opens a cluster of the drill with its AWS emulator, network and servers, and removes everything at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from llm_fleet_local.command.project import LocalError
from llm_fleet_local.drill.aws_emulator import AwsEmulator
from llm_fleet_local.drill.bundle import WrongBundle
from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.fleet import DrillFleet
from llm_fleet_local.drill.journal import Entry, Journal
from llm_fleet_local.drill.nodes.choose import make_backend
from llm_fleet_local.drill.nodes.node import NodeError
from llm_fleet_local.drill.work_folder import give, make_folder


@contextmanager
def open_cluster(
    drilled: DrillFleet, work: Path, *, backend: str = "auto", listener: Callable[[Entry], None] = lambda _: None
) -> Generator[DrillCluster]:
    """Deploy the fleet to an AWS emulator and yield its HyperPod cluster; its nodes are not booted yet.

    `work`: the folder of the drill. `listener` gets the events.
    """
    journal = Journal(run_folder(work) / "journal.jsonl", listener)
    with AwsEmulator() as aws:
        journal.note("deploy", f"deploying {drilled.file.name} to the AWS emulator")
        aws.deploy(drilled.file, drilled.fleet, stack=drilled.stack)
        with open_on(aws, drilled.cluster_name, journal, work, backend=backend) as cluster:
            yield cluster


@contextmanager
def open_on(
    aws: AwsEmulator, name: str, journal: Journal, work: Path, *, backend: str = "auto", variant: str = "slurm"
) -> Generator[DrillCluster]:
    """Yield the cluster `name`, which is deployed to `aws`; its nodes are not booted yet."""
    say = partial(_note, journal)
    with make_backend(work, backend, subnet=aws.subnet(name), variant=variant, say=say) as made:
        cluster = DrillCluster(aws, name, made, journal)
        journal.note("deployed", cluster.proof[-1])
        try:
            yield cluster
        finally:
            cluster.services.stop()


@contextmanager
def errors_reported() -> Generator[None]:
    """Raise errors of nodes and of the bundle as `LocalError`."""
    try:
        yield
    except (NodeError, WrongBundle) as error:
        remedy = "fix what the message names, and remove what is left with `llm-fleet local drill sweep`"
        raise LocalError(f"the drill failed: {error}", remedy) from error


def _note(journal: Journal, text: str) -> None:
    journal.note("machine", text)


def run_folder(work: Path) -> Path:
    """Return a new folder for the files of a run, also for runs that begin in the same second."""
    first = work / "runs" / time.strftime("%Y%m%d-%H%M%S")
    make_folder(first.parent)
    number, folder = 0, first
    while True:
        try:
            folder.mkdir()
        except FileExistsError:
            number += 1
            folder = first.with_name(f"{first.name}.{number}")
        else:
            give(folder)
            return folder
