"""The way from this node to its controllers."""

from __future__ import annotations

from collections.abc import Sequence

from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.node import Node
from llm_fleet_node.waiting import wait_for

PORT = 6817
"""slurmctld's. A platform that changes it has not been seen."""
_CONNECT = 2.0
"""Seconds. A security group that keeps packets out lets them vanish."""


def addresses(node: Node) -> tuple[str, ...]:
    """Return the addresses of the cluster's controllers, the primary first. Raises `Failure` when none is known."""
    if not node.identity.controllers:
        fail(Code.CONTROLLER_UNREACHABLE, f"{node.places.resource_config} names no controller")
    return node.identity.controllers


def wait_for_controller(node: Node, *, seconds: float) -> None:
    """Wait until a controller takes connections. Raises `Failure` that says how each one refused.

    slurmd would wait too, but looks only every ten seconds.
    """
    said: dict[str, str] = {}

    def look() -> bool:
        for address in addresses(node):
            said[address] = refusal(address)
            if not said[address]:
                return True
        return False

    try:
        wait_for("controller", look, seconds=seconds, code=Code.CONTROLLER_UNREACHABLE)
    except Failure:
        reported = "; ".join(f"{address}:{PORT} {reason}" for address, reason in said.items())
        fail(Code.CONTROLLER_UNREACHABLE, f"no controller within {seconds:g} s: {reported}")


def refusal(address: str) -> str:
    """Return why no slurmctld takes connections at `address`; empty when one does."""
    import socket

    try:
        socket.create_connection((address, PORT), timeout=_CONNECT).close()
    except socket.timeout:  # its other name, TimeoutError, is another class until Python 3.10
        return f"does not answer within {_CONNECT:g} s, as when a security group keeps it out"
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return ""


def conf_servers(known: Sequence[str]) -> str:
    """Return the value of slurmd's `--conf-server`."""
    return ",".join(f"{address}:{PORT}" for address in known)
