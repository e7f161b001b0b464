"""Neuron devices: all of the instance type, with the kernel settings for multi-node training."""

from __future__ import annotations

import json
from typing import Any, Optional, cast

from llm_fleet_node.devices.expectation import expected_accelerators, why_none
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed
from llm_fleet_node.neuron.driver import device_numbers, driver_version, is_loaded
from llm_fleet_node.neuron.settings import check_settings, put_settings
from llm_fleet_node.node import Node
from llm_fleet_node.step import EVERY_ROLE, Step
from llm_fleet_node.waiting import wait_for

_SECONDS = 30
"""Seconds for devices to appear after the driver is loaded."""


def _apply(node: Node) -> None:
    """Wait for the devices of a newly loaded driver; reserve ports and raise limits."""
    expected = expected_accelerators(node) or 1
    if is_loaded(node.host):
        wait_for(
            f"{expected} Neuron devices (there are {len(device_numbers(node.host))})",
            lambda: len(device_numbers(node.host)) >= expected,
            seconds=_SECONDS,
            code=Code.ACCELERATORS,
        )
    put_settings(node.host)


def _verify(node: Node) -> None:
    """Verify the number of devices in the kernel and in `neuron-ls`."""
    host, expected = node.host, expected_accelerators(node)
    driver = driver_version(host)
    if driver is None or not is_loaded(host):
        fail(Code.NEURON_DRIVER, f"the Neuron driver {driver or '(none)'} is not loaded")
    numbers = device_numbers(host)
    _compare(node, expected, len(numbers), f"/dev has {len(numbers)} (neuron{_reported(numbers)})")
    listed = _listed(node) if host.which("neuron-ls") else None
    if listed is not None:
        _compare(node, expected, len(listed), f"neuron-ls shows {len(listed)}")
        if len({device.get("nc_count") for device in listed}) != 1:
            fail(Code.ACCELERATORS, f"neuron-ls shows devices with different numbers of cores: {_cores(listed)}")
    check_settings(host)
    node.say(f"Neuron driver {driver}: {len(numbers)} devices")


def _skip(node: Node) -> Optional[str]:
    """Skipped without Neuron devices."""
    return why_none(node, "neuron")


def _compare(node: Node, expected: Optional[int], found: int, reported: str) -> None:
    if expected is not None and found != expected:
        name = node.instance_type.name if node.instance_type else "this instance type"
        fail(Code.ACCELERATORS, f"{name} has {expected} Neuron devices, {reported}")
    if not found:
        fail(Code.ACCELERATORS, f"no Neuron device: {reported}")


def _listed(node: Node) -> Optional[list[dict[str, Any]]]:
    """Return the devices in `neuron-ls`; `None` if its output has an unknown format."""
    try:
        said = node.host.run("neuron-ls", "--json-output")
    except CommandFailed as error:
        fail(Code.ACCELERATORS, error.cause)
    try:
        reported = json.loads(said)
    except ValueError:
        reported = None
    if isinstance(reported, list) and all(isinstance(device, dict) for device in cast("list[Any]", reported)):
        return cast("list[dict[str, Any]]", reported)
    node.say(f"the output of neuron-ls has an unknown format, so only /dev was counted: {said[:100]!r}")
    return None


def _cores(devices: list[dict[str, Any]]) -> str:
    return ", ".join(f"{device.get('neuron_device')}: {device.get('nc_count')}" for device in devices)


def _reported(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers)) or " none"


STEP = Step(
    name="neuron_devices",
    summary="all Neuron devices of the instance type are present, and ports for training are reserved",
    roles=EVERY_ROLE,
    apply=_apply,
    verify=_verify,
    needs=("neuron_host",),
    skip=_skip,
    timeout=120,
    retries=1,
)
