"""Connects to a node through Session Manager or ECS Exec.

AWS CLI commands are lists of words, so that no shell on this machine interprets them.

assumption: hyperpod-takes-session-documents
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from llm_fleet.cli.clients import AwsClients
from llm_fleet.cli.connect.this_machine import (
    INCLUDE,
    Platform,
    check_programs,
    open_session,
    ssh_config,
    write_ssh_file,
)
from llm_fleet.cli.nodes.list_nodes import listing_of
from llm_fleet.cli.nodes.node import Listing, Node, NodeRole, roles_of_place, wanted_node
from llm_fleet.cli.nodes.nodes_table import rows_of
from llm_fleet.cli.place import Kind, Place, fleet_of, place_of
from llm_fleet.cli.screen import plain_line, print_json, progress
from llm_fleet.cli.session import Session, Target, run_command
from llm_fleet.cli.verb import ExitCode, refuse
from llm_fleet.rules.feature_codes import NodesCode
from llm_fleet.rules.problem import FleetError


def reached_node(listing: Listing, requested: str | None, place: Place, region: str) -> Node:
    """Return the node named `requested`. Raises `FleetError` (LF1101 to LF1103, LF1108) unless a session can start."""
    try:
        node = wanted_node(listing, requested)
    except FleetError:
        found = _by_slurm(listing, requested, region) if place.kind is Kind.PARALLELCLUSTER else None
        if found is None:
            raise
        node = found
    if not node.running:
        said = f": {node.message}" if node.message else ""
        refuse(
            NodesCode.NODE_NOT_RUNNING,
            f"{node.label} is {node.status}{said}",
            "wait until it runs (`llm-fleet nodes --watch`); `llm-fleet logs` shows why it does not",
            subject=str(place),
        )
    if node.role is NodeRole.TASK and node.task_arn is None:
        refuse(
            NodesCode.NOT_REACHED,
            "`execute_command` is not set for the service",
            "set `execute_command: true` for the service in the fleet file and deploy it; or connect to a host: "
            "`llm-fleet connect host-1`",
            subject=str(place),
        )
    if node.role is not NodeRole.TASK and node.target is None:
        refuse(
            NodesCode.NOT_REACHED,
            f"{node.label} has no instance yet",
            "wait until it runs (`llm-fleet nodes --watch`)",
            subject=str(place),
        )
    return node


def _by_slurm(listing: Listing, requested: str | None, region: str) -> Node | None:
    """Return the node of ParallelCluster with this Slurm name, e.g. `trn1-st-node-1`, which no tag contains."""
    from llm_fleet.cli.nodes.slurm_view import ask_slurm

    try:
        rows = rows_of(listing, ask_slurm(listing, region))
    except FleetError:
        return None
    return next((row.node for row in rows if row.node and row.slurm and row.slurm.name == requested), None)


_PORTS = re.compile(r"(\d{1,5}):(\d{1,5})")
_HIGHEST = 65_535
_SHELL = "/bin/sh"
"""Shell of a container: some have no bash."""
SERVER = "model-server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """A local port that is forwarded to a port of the node."""

    here: int
    there: int

    @classmethod
    def read(cls, text: str) -> "Ports":
        """Read `HERE:THERE`. Raises `FleetError` (LF1110)."""
        found = _PORTS.fullmatch(text.strip())
        numbers = [int(one) for one in found.groups()] if found else []
        if not numbers or not all(0 < one <= _HIGHEST for one in numbers):
            remedy = "write `LOCAL_PORT:NODE_PORT`, e.g. `8888:8888`"
            refuse(NodesCode.PORTS, "not a pair of ports", remedy, subject="--port-forward", value=text)
        return cls(here=numbers[0], there=numbers[1])


def shell_words(node: Node, region: str, *, user: str | None) -> list[str]:
    """Return the command for a shell as `user`; by default as Session Manager's user (HyperPod: root)."""
    if user is None:
        return _start(node, region)
    command = [f"sudo --login --user={user}"]
    return [*_start(node, region), *_document("AWS-StartInteractiveCommand", {"command": command})]


def forward_words(node: Node, region: str, ports: Ports) -> list[str]:
    """Return the command that forwards a local port to a port of the node."""
    numbers = {"portNumber": [str(ports.there)], "localPortNumber": [str(ports.here)]}
    return [*_start(node, region), *_document("AWS-StartPortForwardingSession", numbers)]


def task_words(node: Node, region: str, *, cluster: str, command: str | None) -> list[str]:
    """Return the command for a shell, or for a command, in the server container of a task (ECS Exec)."""
    words = ["aws", "ecs", "execute-command", "--region", region, "--cluster", cluster]
    words += ["--task", str(node.task_arn), "--container", SERVER]
    return [*words, "--interactive", "--command", command or _SHELL]


def _start(node: Node, region: str) -> list[str]:
    return ["aws", "ssm", "start-session", "--region", region, "--target", str(node.target)]


def _document(name: str, parameters: dict[str, list[str]]) -> list[str]:
    return ["--document-name", name, "--parameters", json.dumps(parameters, separators=(",", ":"))]


_ROOT = "root"
"""Default user of `--command`, as in HyperPod's own sessions."""
_UBUNTU = "ubuntu"
"""Default user of ssh on HyperPod, whose AMI is based on Ubuntu."""


class Connect:
    """One run of the command."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        """Read the cluster or service from `arguments`. Raises `FleetError`."""
        self._arguments = arguments
        self._ports = Ports.read(arguments.port_forward) if arguments.port_forward else None
        self._place = place_of(arguments)
        self._roles = roles_of_place(fleet_of(arguments), self._place)
        self._clients = AwsClients(region=self._place.region)
        self._platform = Platform.of_this_machine()

    def run(self) -> int:
        """Connect, and return the exit code."""
        with progress("nodes") as step:
            seen: Callable[[int], None] = lambda count: step(said=f"{count} nodes")  # noqa: E731 - one word of it
            listing = listing_of(self._clients, self._place, roles=self._roles, seen=seen)
        if self._arguments.ssh_config:
            return self._ssh(listing)
        region = self._clients.region
        node = reached_node(listing, self._arguments.node, self._place, region)
        words = self._words(node, region)
        if self._arguments.print or (self._arguments.json and self._arguments.command is None):
            return self._print(node, words)
        check_programs(self._platform)
        if self._arguments.command is not None and node.role is not NodeRole.TASK:
            return self._command(node, region)
        return self._open(node, words)

    def _words(self, node: Node, region: str) -> list[str]:
        if node.role is NodeRole.TASK:
            if self._ports is not None or self._arguments.user is not None:
                self._arguments.usage("--port-forward and --user have no effect for a task of a service")
            return task_words(node, region, cluster=self._place.name, command=self._arguments.command)
        if self._ports is not None:
            return forward_words(node, region, self._ports)
        return shell_words(node, region, user=self._arguments.user)

    def _print(self, node: Node, words: list[str]) -> int:
        if self._arguments.json:
            print_json({"node": node.as_json(), "command": words})
        else:
            print(self._platform.command_line(words))
        return ExitCode.FINE

    def _open(self, node: Node, words: list[str]) -> int:
        if self._ports is None and not sys.stdin.isatty():
            self._arguments.usage("a shell requires a terminal: use --command to run one command, or --print")
        print(f"{node.label} ({node.instance_id or node.logical_id}), {self._place}", file=sys.stderr, flush=True)
        return open_session(words, node.label)

    def _command(self, node: Node, region: str) -> int:
        target = Target(name=f"{node.label} {node.instance_id}", ssm=str(node.target), region=region)
        session = Session(target, user=self._arguments.user or _ROOT)
        if not self._arguments.json:
            return run_command(session, self._arguments.command, lambda line: print(plain_line(line), flush=True))
        lines: list[str] = []
        code = run_command(session, self._arguments.command, lines.append)
        print_json({"node": node.as_json(), "exit_code": code, "output": lines})
        return code

    def _ssh(self, listing: Listing) -> int:
        if self._place.kind is Kind.SERVICE:
            remedy = "use `llm-fleet connect` for a shell in a task, or on a host by its name"
            refuse(NodesCode.SSH_NONE, "--ssh-config is not available for a service", remedy, subject=str(self._place))
        text = ssh_config(
            listing.nodes,
            prefix=self._place.stack or self._place.name,
            region=self._clients.region,
            user=self._arguments.user or (_UBUNTU if self._place.kind is Kind.HYPERPOD else None),
            profile=os.environ.get("AWS_PROFILE"),
            platform=self._platform,
        )
        if not self._arguments.write:
            print(text, end="")
            return ExitCode.FINE
        path, included = write_ssh_file(text, name=listing.name, home=Path.home())
        if self._arguments.json:
            print_json({"file": str(path), "included": included})
            return ExitCode.FINE
        print(f"wrote {path}")
        if not included:
            print(f"Put this line at the top of ~/.ssh/config, once:\n  {INCLUDE}")
        return ExitCode.FINE
