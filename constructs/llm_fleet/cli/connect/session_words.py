"""The commands of AWS that open a session, as words: no shell reads them on this machine.

assumption: hyperpod-takes-session-documents
"""

import json
import re
from dataclasses import dataclass

from llm_fleet.cli.failure import refuse
from llm_fleet.cli.nodes.node import Node
from llm_fleet.rules.day_two.nodes_codes import NodesCode

_PORTS = re.compile(r"(\d{1,5}):(\d{1,5})")
_HIGHEST = 65_535
_SHELL = "/bin/sh"
"""Of a container: not each has bash."""
SERVER = "model-server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """One port here that leads to one there."""

    here: int
    there: int

    @classmethod
    def read(cls, text: str) -> "Ports":
        """Read `HERE:THERE`. Raises `FleetError` (LF1110)."""
        found = _PORTS.fullmatch(text.strip())
        numbers = [int(one) for one in found.groups()] if found else []
        if not numbers or not all(0 < one <= _HIGHEST for one in numbers):
            remedy = "write the port of this machine, a colon and the node's, as in 8888:8888"
            refuse(NodesCode.PORTS, "these are no ports to forward", remedy, subject="--port-forward", value=text)
        return cls(here=numbers[0], there=numbers[1])


def shell_words(node: Node, region: str, *, user: str | None) -> list[str]:
    """Return what opens a shell: as `user`, else as whoever Session Manager makes of a session (HyperPod: root)."""
    if user is None:
        return _start(node, region)
    command = [f"sudo --login --user={user}"]
    return [*_start(node, region), *_document("AWS-StartInteractiveCommand", {"command": command})]


def forward_words(node: Node, region: str, ports: Ports) -> list[str]:
    """Return what lets a port of this machine lead to one of the node."""
    numbers = {"portNumber": [str(ports.there)], "localPortNumber": [str(ports.here)]}
    return [*_start(node, region), *_document("AWS-StartPortForwardingSession", numbers)]


def task_words(node: Node, region: str, *, cluster: str, command: str | None) -> list[str]:
    """Return what opens a shell, or runs a command, in the server's container of a task (ECS Exec)."""
    words = ["aws", "ecs", "execute-command", "--region", region, "--cluster", cluster]
    words += ["--task", str(node.task_arn), "--container", SERVER]
    return [*words, "--interactive", "--command", command or _SHELL]


def _start(node: Node, region: str) -> list[str]:
    return ["aws", "ssm", "start-session", "--region", region, "--target", str(node.target)]


def _document(name: str, parameters: dict[str, list[str]]) -> list[str]:
    return ["--document-name", name, "--parameters", json.dumps(parameters, separators=(",", ":"))]
