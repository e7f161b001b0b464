"""`llm-fleet local drill`: starts a cluster of a fleet on test nodes of this machine."""

import argparse
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from llm_fleet.cli.place import file_of
from llm_fleet.cli.verb import Verbs, add_verb

_REQUESTS: Mapping[str, tuple[str, str]] = {
    "run": ("run the lifecycle scripts again on nodes (default: all)", "run login-1"),
    "check": ("show the nodes' states in Slurm, and run srun over all workers", "check"),
    "kill": (
        "simulate the loss of nodes; the platform replaces them after Slurm has marked them down",
        "kill workers-2",
    ),
    "reboot": ("reboot nodes", "reboot workers-2"),
    "replace": ("replace nodes", "replace workers-2"),
    "report": ("write the report, and print a summary", "report"),
}
"""Requests to the process that keeps the cluster: help text and example, by verb."""
_WITHOUT_NODES = frozenset({"check", "report"})


def add_drill(commands: Verbs, run: Callable[..., int], directory_of: Callable[[argparse.Namespace], Path]) -> None:
    """Add the commands. `run` runs a function of the drill, and `directory_of` returns the project's directory."""

    def start(given: argparse.Namespace) -> int:
        function = getattr(given, "function", "show")
        directory, file = (Path(), None) if given.example else (file_of(given).parent, file_of(given))
        return run(function, directory, file, workers=given.workers, backend=given.backend)

    def request(given: argparse.Namespace) -> int:
        return run("request", directory_of(given), given.request, given.nodes)

    def shell(given: argparse.Namespace) -> int:
        return run("shell", directory_of(given), given.node, given.command)

    def end(given: argparse.Namespace) -> int:
        return run(given.function, directory_of(given))

    drill = add_verb(
        commands,
        "drill",
        help="start a Slurm cluster on test nodes of this machine, lose a node, during training if the fleet "
        "file has a job for CPUs, report, and remove it",
        examples=("local drill -f fleet.yaml --workers 3", "local drill --example"),
    )
    _add_start(drill, file=None, example=False, workers=None, backend="auto")
    drill.set_defaults(run=start)
    verbs = drill.add_subparsers(title="commands for a cluster that stays", metavar="COMMAND")

    verb = _verb(verbs, "up", "start a cluster and keep it", "up --workers 2")
    left = argparse.SUPPRESS  # Otherwise the subparser's defaults replace the options before the subcommand.
    _add_start(verb, file=left, example=left, workers=left, backend=left)
    verb.set_defaults(run=start, function="up")
    for name, (text, example) in _REQUESTS.items():
        verb = _verb(verbs, name, text, example)
        _add_file(verb, left)
        if name in _WITHOUT_NODES:
            verb.set_defaults(nodes=[])
        else:
            verb.add_argument("nodes", nargs="*" if name == "run" else "+", metavar="NODE", help="e.g. workers-1")
        verb.set_defaults(run=request, request=name)

    verb = _verb(verbs, "shell", "start a shell, or run a command, on a node", "shell controller-1 sinfo")
    _add_file(verb, left)
    verb.add_argument("node", metavar="NODE", help="e.g. controller-1")
    verb.add_argument("command", nargs=argparse.REMAINDER, metavar="...", help="command (default: a shell)")
    verb.set_defaults(run=shell)
    for name, text in (("down", "remove the cluster"), ("sweep", "remove clusters that killed drills left")):
        verb = _verb(verbs, name, text, name)
        _add_file(verb, left)
        verb.set_defaults(run=end, function=name)


def _verb(verbs: Verbs, name: str, text: str, example: str) -> argparse.ArgumentParser:
    of_other_project = f"local drill -f ../other-project/fleet.yaml {example}"
    return add_verb(verbs, name, help=text, examples=(f"local drill {example}", of_other_project))


def _add_start(
    parser: argparse.ArgumentParser, *, file: str | None, example: bool | str, workers: str | None, backend: str
) -> None:
    which = parser.add_mutually_exclusive_group()
    _add_file(which, file)
    which.add_argument(
        "--example", action="store_true", default=example, help="llm-fleet's own fleet file, which trains on CPUs"
    )
    parser.add_argument(
        "--workers", type=_workers, default=workers, metavar="N", help="number of workers, instead of the fleet file's"
    )
    parser.add_argument(
        "--backend",
        choices=("auto", "unshare", "docker"),
        default=backend,
        help="nodes in namespaces of this machine (default for root), or in Docker or Podman",
    )


def _add_file(parser: argparse._ActionsContainer, default: str | None) -> None:  # pyright: ignore[reportPrivateUsage] - of a parser or a group
    parser.add_argument(
        "-f",
        "--file",
        metavar="FILE",
        default=default,
        help="fleet file (default: fleet.yaml in the current directory)",
    )


def _workers(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,3}", text):
        raise argparse.ArgumentTypeError(f"{text} is not a number of workers; write 1 or more")
    return int(text)
