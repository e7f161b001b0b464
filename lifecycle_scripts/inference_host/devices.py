"""Checks the number of Neuron devices against the instance type."""

from __future__ import annotations

from inference_host.failures import Code, fail
from inference_host.host import Host
from inference_host.settings import Settings

SECONDS = 30.0
"""Seconds for devices to appear after the driver is loaded."""


def check_devices(host: Host, settings: Settings) -> dict[str, object]:
    """Count `/dev/neuron<n>`. Raises `Failure` when there are fewer, or more, than the type has."""
    wanted = settings.devices
    host.wait(lambda: count(host) >= (wanted or 1), seconds=SECONDS)
    found = count(host)
    if found == 0 or (wanted is not None and found != wanted):
        fail(
            Code.DEVICES,
            f"{settings.instance_type} has {wanted or 'at least 1'} Neuron devices, but /dev has {found}",
        )
    return {"devices": found}


def count(host: Host) -> int:
    """Return the number of `/dev/neuron<n>`."""
    return sum(path.name[len("neuron") :].isdigit() for path in host.path("/dev").glob("neuron*"))
