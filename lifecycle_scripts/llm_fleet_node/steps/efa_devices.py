"""EFA interfaces: as many as the instance type has, usable by libfabric, with memory that may be locked."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.devices.efa import fabric_domains, interfaces
from llm_fleet_node.devices.expectation import expected_interfaces, needs_every_interface
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.node import Node
from llm_fleet_node.step import COMPUTE, Step

_LIMITS = "/etc/security/limits.d/90-llm-fleet-efa.conf"
_LOCKED = "# Written by llm-fleet.\n* soft memlock unlimited\n* hard memlock unlimited\n"
"""EFA registers the buffers it sends from, and registered memory is locked."""


def _apply(node: Node) -> None:
    """Let sessions lock memory. Interfaces are attached by the platform; there is nothing to do about them here."""
    node.host.write(_LIMITS, _LOCKED)


def _verify(node: Node) -> None:
    """Prove that kernel and libfabric see as many interfaces as the type has; a remark where no job needs them."""
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
        fail(Code.ACCELERATOR_SETTINGS, f"{_LIMITS} does not let sessions lock memory, which EFA needs")
    if short:
        node.say(f"{short}; no fabric of group {node.group.name} asks for EFA")
        return
    node.say(f"{len(found)} EFA interfaces{'' if domains is None else ', all usable by libfabric'}")


def _skip(node: Node) -> Optional[str]:
    """Nothing to do where the type has no EFA, or nobody told of any."""
    if expected_interfaces(node):
        return None
    return f"{node.instance_type.name if node.instance_type else 'the group, of mixed types,'} has no EFA interfaces"


def _reported(names: list[str]) -> str:
    return f" ({', '.join(names)})" if names else ""


STEP = Step(
    name="efa_devices",
    summary="all EFA interfaces of the instance type are there and usable",
    roles=frozenset({COMPUTE}),
    apply=_apply,
    verify=_verify,
    skip=_skip,
    timeout=60,
    retries=1,
)
