"""The connection from this node to its controllers."""

from __future__ import annotations

from collections.abc import Sequence

from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.node import Node
from llm_fleet_node.waiting import wait_for

PORT = 6817
"""Port of slurmctld. No platform is known to change it."""
_CONNECT = 2.0
"""Timeout in seconds: a security group drops blocked packets without an answer."""


def addresses(node: Node) -> tuple[str, ...]:
    """Return the addresses of the cluster's controllers, the primary first. Raises `Failure` if none is known."""
    if not node.identity.controllers:
        fail(Code.CONTROLLER_UNREACHABLE, f"{node.places.resource_config} names no controller")
    return node.identity.controllers


def wait_for_controller(node: Node, *, seconds: float) -> None:
    """Wait until a controller accepts connections. Raises `Failure` with the error of each one.

    slurmd would wait too, but retries only every ten seconds.
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
        fail(Code.CONTROLLER_UNREACHABLE, f"no connection to a controller within {seconds:g} s: {reported}")


def refusal(address: str) -> str:
    """Return why no slurmctld accepts connections at `address`; empty if one does."""
    import socket

    try:
        socket.create_connection((address, PORT), timeout=_CONNECT).close()
    except socket.timeout:  # TimeoutError is another class before Python 3.10
        return f"does not answer within {_CONNECT:g} s; a security group may block it"
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return ""


def conf_servers(known: Sequence[str]) -> str:
    """Return the value of slurmd's `--conf-server`."""
    return ",".join(f"{address}:{PORT}" for address in known)
