"""NVIDIA GPUs: all of the instance type, in persistence mode."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.devices.expectation import expected_accelerators, why_none
from llm_fleet_node.devices.gpus import count, listed, xid_errors
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.node import Node
from llm_fleet_node.services import is_active, run_unit
from llm_fleet_node.step import EVERY_ROLE, Step

_PERSISTENCE = "nvidia-persistenced.service"
_UNIT_FOLDERS = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")


def _apply(node: Node) -> None:
    """Start the persistence daemon, if the image has it: without it, each first call takes seconds."""
    if _has_persistence(node.host):
        run_unit(node.host, _PERSISTENCE)


def _verify(node: Node) -> None:
    """Verify the number of GPUs in the driver and in `nvidia-smi`."""
    host, expected = node.host, expected_accelerators(node)
    found = count(host)
    if found is None:
        fail(Code.ACCELERATORS, f"the NVIDIA driver is not loaded{_xids(host)}")
    name = node.instance_type.name if node.instance_type else "this instance type"
    for who, number in (("the driver has", found), ("nvidia-smi shows", listed(host))):
        if number is not None and (number != expected if expected is not None else not number):
            fail(Code.ACCELERATORS, f"{name} has {expected or 'some'} GPUs, but {who} {number}{_xids(host)}")
    if _has_persistence(host) and not is_active(host, _PERSISTENCE):
        fail(Code.ACCELERATOR_SETTINGS, f"{_PERSISTENCE} does not run")
    node.say(f"{found} GPUs")


def _skip(node: Node) -> Optional[str]:
    """Skipped without GPUs."""
    return why_none(node, "gpu")


def _has_persistence(host: Host) -> bool:
    return any(host.path(f"{folder}/{_PERSISTENCE}").is_file() for folder in _UNIT_FOLDERS)


def _xids(host: Host) -> str:
    errors = xid_errors(host)
    return f"; kernel messages: {'; '.join(errors)}" if errors else ""


STEP = Step(
    name="gpu_devices",
    summary="all GPUs of the instance type are present, in persistence mode",
    roles=EVERY_ROLE,
    apply=_apply,
    verify=_verify,
    skip=_skip,
    timeout=120,
    retries=1,
)
