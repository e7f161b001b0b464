"""What `llm-fleet connect` does."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.connect.interactive import open_session
from llm_fleet.cli.connect.platform import Platform
from llm_fleet.cli.connect.programs import check_programs
from llm_fleet.cli.connect.reach import reached_node
from llm_fleet.cli.connect.remote_command import run_command
from llm_fleet.cli.connect.session_words import Ports, forward_words, shell_words, task_words
from llm_fleet.cli.connect.ssh_config import ssh_config
from llm_fleet.cli.connect.ssh_file import INCLUDE, write_ssh_file
from llm_fleet.cli.exit_codes import ExitCode
from llm_fleet.cli.failure import refuse
from llm_fleet.cli.nodes.listed_nodes import listing_of
from llm_fleet.cli.nodes.listing import Listing
from llm_fleet.cli.nodes.node import Node, NodeRole
from llm_fleet.cli.nodes.roles import roles_of_place
from llm_fleet.cli.place.arguments import fleet_of, place_of
from llm_fleet.cli.place.place import Kind
from llm_fleet.cli.session.session import Session
from llm_fleet.cli.session.target import Target
from llm_fleet.cli.terminal.json_text import print_json
from llm_fleet.cli.terminal.plain_text import plain_line
from llm_fleet.cli.terminal.progress import progress
from llm_fleet.rules.day_two.nodes_codes import NodesCode

_ROOT = "root"
"""Whom a command is run as unless told: as HyperPod's own sessions are."""
_UBUNTU = "ubuntu"
"""Whom ssh logs in as on HyperPod, whose image is Ubuntu's."""


class Connect:
    """One run of the command."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        """Find out which cluster or service is meant. Raises `FleetError`."""
        self._arguments = arguments
        self._ports = Ports.read(arguments.port_forward) if arguments.port_forward else None
        self._place = place_of(arguments)
        self._roles = roles_of_place(fleet_of(arguments), self._place)
        self._clients = AwsClients(region=self._place.region)
        self._platform = Platform.of_this_machine()

    def run(self) -> int:
        """Do what was asked for; return the exit code."""
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
                self._arguments.usage("a task of a service has neither ports to forward nor users")
            return task_words(node, region, cluster=self._place.name, command=self._arguments.command)
        if self._ports is not None:
            return forward_words(node, region, self._ports)
        return shell_words(node, region, user=self._arguments.user)

    def _print(self, node: Node, words: list[str]) -> int:
        if self._arguments.json:
            print_json({"node": node.told(), "command": words})
        else:
            print(self._platform.command_line(words))
        return ExitCode.FINE

    def _open(self, node: Node, words: list[str]) -> int:
        if self._ports is None and not sys.stdin.isatty():
            self._arguments.usage("a shell needs a terminal: --command runs one command, --print shows what to run")
        print(f"{node.label} ({node.instance_id or node.logical_id}), {self._place}", file=sys.stderr, flush=True)
        return open_session(words, node.label)

    def _command(self, node: Node, region: str) -> int:
        target = Target(name=f"{node.label} {node.instance_id}", ssm=str(node.target), region=region)
        session = Session(target, user=self._arguments.user or _ROOT)
        if not self._arguments.json:
            return run_command(session, self._arguments.command, lambda line: print(plain_line(line), flush=True))
        lines: list[str] = []
        code = run_command(session, self._arguments.command, lines.append)
        print_json({"node": node.told(), "exit_code": code, "output": lines})
        return code

    def _ssh(self, listing: Listing) -> int:
        if self._place.kind is Kind.SERVICE:
            remedy = "`llm-fleet connect` opens a shell in a task, or on a host by its name"
            refuse(NodesCode.SSH_NONE, "a service has no users who could log in", remedy, subject=str(self._place))
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
        print(f"written: {path}")
        if not included:
            print(f"Put this line at the top of ~/.ssh/config, once:\n  {INCLUDE}")
        return ExitCode.FINE
