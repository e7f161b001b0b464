"""Why slurmd does not register: from tests, otherwise from its log."""

from __future__ import annotations

from typing import NoReturn

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.names import dns_problem
from llm_fleet_node.node import Node
from llm_fleet_node.slurm import controller, logs
from llm_fleet_node.time_source import clock_offset

_MUNGE_LIFETIME = 300.0
"""Seconds for which munge accepts a credential (its default time to live)."""


_HOPELESS = (Code.MUNGE_REJECTED, Code.MUNGE_CLOCK, Code.SLURM_VERSIONS)
"""Failures for which waiting does not help."""


def is_hopeless(host: Host) -> bool:
    """Return whether slurmd logs an error for which waiting does not help."""
    return logs.meaning(logs.last_words(host, "slurmd")) in _HOPELESS


def explain(node: Node, name: str, what: str) -> NoReturn:
    """Raise the `Failure` for why the node `name` is not registered; `what` describes what was found."""
    refusals = {address: controller.refusal(address) for address in controller.addresses(node)}
    if all(refusals.values()):
        reported = "; ".join(f"{address}:{controller.PORT} {reason}" for address, reason in refusals.items())
        fail(Code.CONTROLLER_UNREACHABLE, f"{what}: {reported}")
    words = logs.last_words(node.host, "slurmd")
    code = logs.meaning(words) or Code.SLURMD
    if code is Code.CONTROLLER_UNREACHABLE:
        code = Code.SLURMD  # the controller was unreachable when slurmd tried, but is reachable now
    if code is Code.MUNGE_REJECTED:
        # Slurm logs the same message for a wrong key and a wrong clock; only the controller's log differs.
        off = clock_offset(node)
        if off is not None and abs(off) >= _MUNGE_LIFETIME:
            fail(Code.MUNGE_CLOCK, f"{name}'s clock is off by {off:+.0f} s, and the controller rejects its credentials")
    if code is Code.SLURMD:
        check_dns(node.host, what)
    fail(code, f"{what}: {logs.errors_of(words)}")


def check_dns(host: Host, what: str) -> None:
    """Raise `Failure` (`LFN168`) if no DNS server answers: Slurm's programs then time out without mentioning DNS."""
    problem = dns_problem(host)
    if problem:
        fail(Code.DNS, f"{what}: {problem}")
