"""What the commands of `llm-fleet local drill` do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from llm_fleet_local.command.project import LocalError
from llm_fleet_local.drill.fleet import EXAMPLE, DrillFleet, read_fleet
from llm_fleet_local.drill.image.prerequisites import check_machine
from llm_fleet_local.drill.keeper import Keeper, place
from llm_fleet_local.drill.nodes.sweep import sweep as sweep_clusters
from llm_fleet_local.drill.session import errors_reported
from llm_fleet_local.drill.show import show as show_cluster
from llm_fleet_local.drill.stand_ins import interpreter
from llm_fleet_local.drill.talk import ask, is_listening
from llm_fleet_local.drill.work_folder import image_folder, prepare_folders, work_folder

_START_SECONDS = 30


def show(directory: Path, fleet_file: Path | None, *, workers: int | None, backend: str) -> int:
    """Start a cluster, train while a node is lost and replaced, report, and remove the cluster.

    `directory`: of the project. `fleet_file`: by default the drill's own.
    """
    drilled, work = _prepared(directory, fleet_file, workers, backend)
    with _removed_at_the_end(), errors_reported():
        return show_cluster(drilled, work, backend=backend, console=Console())


def up(directory: Path, fleet_file: Path | None, *, workers: int | None, backend: str) -> int:
    """Start a cluster in a process that keeps it, and print its events until it is up or has failed."""
    drilled, work = _prepared(directory, fleet_file, workers, backend)
    if not drilled.is_hyperpod:
        raise LocalError(
            f"the cluster `{drilled.key}` is of ParallelCluster, which cannot be kept",
            "start and test it with `llm-fleet local drill`",
        )
    if place(work).exists():
        raise LocalError(
            "a cluster is up already, or a killed drill left one",
            "run `llm-fleet local drill down`, after a killed drill `llm-fleet local drill sweep`",
        )
    arguments = {"fleet_file": str(drilled.file.resolve()), "work": str(work), "workers": workers, "backend": backend}
    log = work / "keeper.log"
    with log.open("wb") as output:
        kept = subprocess.Popen(
            [sys.executable, "-m", "llm_fleet_local.drill", json.dumps(arguments)],
            cwd=work,  # Python would import a project's own json.py first.
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + _START_SECONDS
    while not is_listening(place(work)):
        if kept.poll() is not None or time.monotonic() > deadline:
            raise LocalError("the process that keeps the cluster does not start", f"read {log}")
        time.sleep(0.05)
    code = _requested(work, ["follow"])
    _print("next: `llm-fleet local drill check`, `shell NODE`, `kill NODE`, at the end `down`")
    return code


def keep(*, fleet_file: str, work: str, workers: int | None, backend: str) -> int:
    """Run in the process that `up` starts."""
    with _removed_at_the_end():
        return Keeper(read_fleet(Path(fleet_file), workers=workers), Path(work), backend=backend).run()


def request(directory: Path, verb: str, nodes: Sequence[str]) -> int:
    """Send a request to the process that keeps the cluster, and print its answer."""
    return _requested(work_folder(directory), [verb, *nodes])


def shell(directory: Path, node: str, command: Sequence[str]) -> int:
    """Replace this process by a shell, or a command, on the node."""
    said: list[str] = []
    ask(place(work_folder(directory)), ["enter", node, *command], said.append)
    line: list[str] = json.loads(said[-1])
    sys.stdout.flush()
    os.execvp(line[0], line)  # noqa: S606 - the user requested a shell


def down(directory: Path) -> int:
    """Remove the cluster, and wait until it is gone."""
    work = work_folder(directory)
    code = _requested(work, ["down"])
    deadline = time.monotonic() + _START_SECONDS
    while place(work).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return code


def sweep(directory: Path) -> int:
    """Remove clusters that killed drills left."""
    work = work_folder(directory)
    try:
        if not sweep_clusters(work, _print):
            _print("nothing to remove: no drill of this project has ended without removing its cluster")
        if place(work).exists() and not is_listening(place(work)):
            place(work).unlink()
    except PermissionError as error:
        raise LocalError(f"{error.filename} belongs to another user", "run the command as root") from error
    return 0


def _prepared(directory: Path, fleet_file: Path | None, workers: int | None, backend: str) -> tuple[DrillFleet, Path]:
    """Return the fleet and the drill's folder. Raises what is wrong with fleet, machine and folders, in this order."""
    drilled = read_fleet(fleet_file or EXAMPLE, workers=workers)
    check_machine(backend)
    os.umask(0o022)  # The folders become those of nodes, in which not only root may read.
    work = prepare_folders(directory)
    if drilled.needs_interpreter:
        interpreter.provide(image_folder())
    return drilled, work


@contextmanager
def _removed_at_the_end() -> Generator[None]:
    """Let SIGTERM and SIGHUP end the code that uses the cluster, as Ctrl-C does: it then removes the cluster."""
    before = {
        number: signal.signal(number, lambda number, _: sys.exit(128 + number))
        for number in (signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _requested(work: Path, words: Sequence[str]) -> int:
    return ask(place(work), words, _print)


def _print(line: str) -> None:
    Console().print(line, markup=False, highlight=False, soft_wrap=True)


__all__ = ["LocalError", "down", "keep", "request", "shell", "show", "sweep", "up"]
