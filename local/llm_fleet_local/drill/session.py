"""Opens a cluster of the drill with its AWS emulator, network and servers, and removes everything at the end."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import yaml

from llm_fleet_local.drill.aws_emulator import AwsEmulator, NotDeployed
from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.journal import Entry, Journal
from llm_fleet_local.drill.nodes.choose import make_backend
from llm_fleet_local.drill.variant import write_variant
from llm_fleet_local.drill.work_folder import work_folder

FLEET = Path(__file__).parents[3] / "examples" / "hyperpod-drill.yaml"
"""The default fleet file."""


@contextmanager
def open_cluster(
    fleet_file: Path = FLEET,
    *,
    workers: int | None = None,
    backend: str = "auto",
    listener: Callable[[Entry], None] = lambda _: None,
) -> Generator[DrillCluster]:
    """Deploy the fleet to an AWS emulator and yield its first cluster; its nodes are not booted yet.

    `workers`: number of workers, instead of the fleet file's. `listener` gets the events.
    """
    journal = Journal(run_folder() / "journal.jsonl", listener)
    with TemporaryDirectory(prefix="drill-fleet-") as folder, AwsEmulator() as aws:
        if first_kind(fleet_file) == "parallelcluster":
            raise NotDeployed(f"{fleet_file} has a ParallelCluster, which only `show` and the scenarios support")
        journal.note("deploy", f"deploying {fleet_file.name} to the AWS emulator")
        aws.deploy(fleet_file if workers is None else write_variant(fleet_file, Path(folder), workers=workers))
        with open_on(aws, aws.clusters()[0], journal, backend=backend) as cluster:
            yield cluster


@contextmanager
def open_on(
    aws: AwsEmulator, name: str, journal: Journal, *, backend: str = "auto", variant: str = "slurm"
) -> Generator[DrillCluster]:
    """Yield the cluster `name`, which is deployed to `aws`; its nodes are not booted yet."""
    say = partial(_note, journal)
    with make_backend(backend, subnet=aws.subnet(name), variant=variant, say=say) as made:
        cluster = DrillCluster(aws, name, made, journal)
        journal.note("deployed", cluster.proof[-1])
        try:
            yield cluster
        finally:
            cluster.services.stop()


def _note(journal: Journal, text: str) -> None:
    journal.note("machine", text)


def first_kind(fleet_file: Path) -> str:
    """Return the `kind` of the fleet's first cluster, empty if the file does not set it."""
    fleet = cast("dict[str, dict[str, dict[str, Any]]]", yaml.safe_load(fleet_file.read_text(encoding="utf-8")))
    return next((str(cluster.get("kind", "")) for cluster in fleet.get("clusters", {}).values()), "")


def run_folder() -> Path:
    """Return a new folder for the files of a run, also for runs that begin in the same second."""
    first = work_folder() / "runs" / time.strftime("%Y%m%d-%H%M%S")
    first.parent.mkdir(parents=True, exist_ok=True)
    for number in itertools.count():
        folder = first.with_name(f"{first.name}.{number}") if number else first
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise AssertionError("there is always a next number")
