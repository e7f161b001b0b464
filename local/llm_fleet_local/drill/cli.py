"""The command line of `python -m llm_fleet_local.drill`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from llm_fleet_local.drill.keeper import Keeper, place
from llm_fleet_local.drill.session import FLEET
from llm_fleet_local.drill.talk import NoOneThere, ask
from llm_fleet_local.drill.work_folder import work_folder

_START_SECONDS = 30
_REQUESTED = {
    "run": "run the scripts again on NODES (default: all)",
    "check": "show the nodes' states in Slurm, and run srun over all workers",
    "kill": "simulate the loss of NODES; the platform replaces them after Slurm has marked them down",
    "reboot": "reboot NODES",
    "replace": "replace NODES",
    "report": "write the report and print a summary",
}
"""Requests to the process that keeps the cluster, by verb."""


def main(arguments: Sequence[str]) -> int:
    """Run the command line; return the exit code."""
    given = _parser().parse_args(arguments)
    console = Console()
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Same as Ctrl-C: the code that uses the cluster removes it.
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    if os.geteuid() != 0 and given.backend != "docker":
        console.print("the drill creates namespaces and mounts for its nodes: run it as root")
        return 1
    return int(given.run(given, console))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m llm_fleet_local.drill", description=__doc__)
    parser.set_defaults(backend="auto")
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb, help, run in (
        ("show", "start a cluster, train while a node is lost and replaced, report, and remove the cluster", _show),
        ("up", "start a cluster and keep it", _up),
        ("keep", "background process of `up`", _keep),
        ("bench", "measure the time of the scripts until the first srun", _bench),
    ):
        added = verbs.add_parser(verb, help=help)
        added.add_argument("--fleet", type=Path, default=FLEET, help=f"fleet file (default: {FLEET.name})")
        added.add_argument("--backend", choices=("auto", "unshare", "docker"), default="auto")
        if verb == "bench":
            added.add_argument(
                "--workers", type=int, nargs="*", default=[2, 8, 16, 64], help="numbers of workers, one run each"
            )
            words = "numbers of workers for runs that measure the build of the training environment"
            added.add_argument("--environments", type=int, nargs="*", default=[2, 8], help=words)
        else:
            added.add_argument("--workers", type=int, help="number of workers, instead of the fleet file's")
        added.set_defaults(run=run)
    for verb, help in _REQUESTED.items():
        added = verbs.add_parser(verb, help=help)
        added.add_argument("nodes", nargs="*" if verb in ("run", "check", "report") else "+", metavar="NODE")
        added.set_defaults(run=_ask)
    shell = verbs.add_parser("shell", help="start a shell, or run a command, on NODE")
    shell.add_argument("node", metavar="NODE")
    shell.add_argument("command", nargs=argparse.REMAINDER)
    shell.set_defaults(run=_shell)
    verbs.add_parser("down", help="remove the cluster").set_defaults(run=_down)
    verbs.add_parser("sweep", help="remove clusters that killed drills left").set_defaults(run=_sweep)
    image = verbs.add_parser("image", help="build the image of the nodes, unless it exists")
    image.add_argument("--distribution", default="debian-13")
    image.set_defaults(run=_image)
    return parser


def _show(given: argparse.Namespace, console: Console) -> int:
    from llm_fleet_local.drill.show import show

    return show(given.fleet, workers=given.workers, backend=given.backend, console=console)


def _bench(given: argparse.Namespace, console: Console) -> int:
    from llm_fleet_local.drill.bench import bench

    return bench(given.fleet, given.workers, given.environments, backend=given.backend, console=console)


def _keep(given: argparse.Namespace, _: Console) -> int:
    return Keeper(given.fleet, workers=given.workers, backend=given.backend).run()


def _up(given: argparse.Namespace, console: Console) -> int:
    if place().exists():
        console.print(
            "a cluster is up already, or a killed drill left one: run `python -m llm_fleet_local.drill down` or "
            "`sweep` first"
        )
        return 1
    log = work_folder() / "keeper.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable,
        "-m",
        "llm_fleet_local.drill",
        "keep",
        "--fleet",
        str(given.fleet),
        "--backend",
        given.backend,
    ]
    command += ["--workers", str(given.workers)] if given.workers else []
    with log.open("wb") as output:
        kept = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    deadline = time.monotonic() + _START_SECONDS
    while not place().exists():
        if kept.poll() is not None or time.monotonic() > deadline:
            console.print(log.read_text(errors="replace"), markup=False)
            return 1
        time.sleep(0.05)
    return _requested(["follow"], console)


def _ask(given: argparse.Namespace, console: Console) -> int:
    return _requested([given.verb, *given.nodes], console)


def _requested(words: Sequence[str], console: Console) -> int:
    try:
        return ask(place(), words, lambda line: console.print(line, markup=False, highlight=False, soft_wrap=True))
    except NoOneThere:
        console.print("no cluster is up: run `python -m llm_fleet_local.drill up` first")
        return 1


def _shell(given: argparse.Namespace, console: Console) -> int:
    said: list[str] = []
    try:
        code = ask(place(), ["enter", given.node, *given.command], said.append)
    except NoOneThere:
        console.print("no cluster is up: run `python -m llm_fleet_local.drill up` first")
        return 1
    if code:
        console.print("\n".join(said), markup=False)
        return 1
    command: list[str] = json.loads(said[-1])
    os.execvp(command[0], command)  # noqa: S606 - the user requested a shell


def _down(_: argparse.Namespace, console: Console) -> int:
    code = _requested(["down"], console)
    deadline = time.monotonic() + _START_SECONDS
    while place().exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return code


def _sweep(_: argparse.Namespace, console: Console) -> int:
    from llm_fleet_local.drill.nodes.sweep import sweep

    for line in sweep():
        console.print(line, markup=False, highlight=False)
    with suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        if connection.connect_ex(str(place())):  # no process listens
            place().unlink(missing_ok=True)
    return 0


def _image(given: argparse.Namespace, console: Console) -> int:
    from llm_fleet_local.drill.image.image import Images
    from llm_fleet_local.drill.work_folder import image_folder

    image = Images(image_folder(), say=console.print).provide(distribution=given.distribution)
    console.print(f"image: {', '.join(map(str, image.layers))}", markup=False, highlight=False, soft_wrap=True)
    return 0
