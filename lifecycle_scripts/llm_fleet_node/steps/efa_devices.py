"""EFA interfaces: all of the instance type, usable with libfabric, with unlimited locked memory."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.devices.efa import fabric_domains, interfaces
from llm_fleet_node.devices.expectation import expected_interfaces, needs_every_interface
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.node import Node
from llm_fleet_node.step import COMPUTE, Step

_LIMITS = "/etc/security/limits.d/90-llm-fleet-efa.conf"
_LOCKED = "# Written by llm-fleet.\n* soft memlock unlimited\n* hard memlock unlimited\n"
"""EFA locks the memory of its buffers."""


def _apply(node: Node) -> None:
    """Allow sessions to lock memory. The platform attaches the interfaces."""
    node.host.write(_LIMITS, _LOCKED)


def _verify(node: Node) -> None:
    """Verify the number of interfaces in kernel and libfabric; only logged if no job needs them."""
    expected, found = expected_interfaces(node) or 0, interfaces(node.host)
    name = node.instance_type.name if node.instance_type else "this instance type"
    domains = fabric_domains(node.host)
    short = ""
    if len(found) < expected:
        short = f"{name} has {expected} EFA interfaces, the kernel has {len(found)}{_reported(found)}"
    elif domains is not None and len(domains) < expected:
        short = f"{name} has {expected} EFA interfaces, libfabric can use {len(domains)}{_reported(sorted(domains))}"
    if short and needs_every_interface(node):
        fail(Code.EFA_DEVICES, short)
    if node.host.read(_LIMITS) != _LOCKED:
        fail(Code.ACCELERATOR_SETTINGS, f"{_LIMITS} does not allow sessions to lock memory, which EFA requires")
    if short:
        node.say(f"{short}; no fabric of group {node.group.name} uses EFA")
        return
    node.say(f"{len(found)} EFA interfaces{'' if domains is None else ', all usable by libfabric'}")


def _skip(node: Node) -> Optional[str]:
    """Skipped if the type has no EFA, or if that is unknown."""
    if expected_interfaces(node):
        return None
    return f"{node.instance_type.name if node.instance_type else 'the group, of mixed types,'} has no EFA interfaces"


def _reported(names: list[str]) -> str:
    return f" ({', '.join(names)})" if names else ""


STEP = Step(
    name="efa_devices",
    summary="all EFA interfaces of the instance type are present and usable",
    roles=frozenset({COMPUTE}),
    apply=_apply,
    verify=_verify,
    skip=_skip,
    timeout=60,
    retries=1,
)
