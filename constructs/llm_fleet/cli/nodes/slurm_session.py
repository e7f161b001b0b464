"""Asks Slurm by one session with a node that has its commands."""

from collections.abc import Sequence
from typing import NoReturn

from llm_fleet.cli.failure import refuse
from llm_fleet.cli.nodes.listing import Listing
from llm_fleet.cli.nodes.node import Node, NodeRole
from llm_fleet.cli.nodes.slurm_view import SLURM_SCRIPT, SlurmView, read_slurm
from llm_fleet.cli.session.session import CutOff, Session
from llm_fleet.cli.session.target import Target
from llm_fleet.rules.day_two.nodes_codes import NodesCode

_ORDER = (NodeRole.CONTROLLER, NodeRole.HEAD, NodeRole.LOGIN)
"""The controller first: it answers also when the network between nodes does not."""
_LONGEST = 300
"""Signs of what a failed command said that are told."""
_DEADLINE = 90.0
_ATTEMPTS = 2
_USER = "root"
"""Slurm may hide from others whose jobs run where."""


def ask_slurm(listing: Listing, region: str) -> SlurmView:
    """Return Slurm's view of the cluster. Raises `FleetError` (LF887, LF1111, LF1112) when it cannot be had."""
    node = _asked(listing.nodes)
    target = Target(name=f"{node.label} {node.instance_id}", ssm=str(node.target), region=region)
    session = Session(target, user=_USER, deadline=_DEADLINE)
    for attempt in range(1, _ATTEMPTS + 1):
        lines: list[str] = []
        try:
            code = session.follow(SLURM_SCRIPT, lines.append)
        except CutOff as error:
            if attempt < _ATTEMPTS and "AccessDenied" not in str(error):
                session.pause(attempt, str(error))
                continue
            _refuse(f"the session with {target.name} failed: {error}", f"run `llm-fleet connect {node.label}`")
        if code:
            said = "; ".join(line for line in lines if not line.startswith("# "))[-_LONGEST:]
            words = said or f"it ended with {code}"
            _refuse(f"Slurm does not answer on {target.name}: {words}", f"run `llm-fleet connect {node.label}` and see")
        return read_slurm(lines)
    raise AssertionError("the last attempt returns or raises")


def _asked(nodes: Sequence[Node]) -> Node:
    for role in _ORDER:
        for node in nodes:
            if node.role is role and node.running and node.target:
                return node
    states = ", ".join(f"{node.label} is {node.status}" for node in nodes if node.role in _ORDER)
    _refuse(f"no node that could be asked runs: {states or 'nobody tells which is the controller'}", "wait for it")


def _refuse(message: str, remedy: str) -> NoReturn:
    remedy = f"{remedy}; --no-slurm leaves Slurm out"
    refuse(NodesCode.SLURM_SILENT, message, remedy, subject="Slurm")
