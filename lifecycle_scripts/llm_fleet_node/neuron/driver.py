"""The Neuron driver of this node."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.host import CommandFailed, Host

DRIVER = "aws-neuronx-dkms"
"""Its package."""
_LOADED = "/sys/module/neuron"


def driver_version(host: Host) -> Optional[str]:
    """Return the version of the loaded driver, otherwise of the one the kernel would load; `None` if none."""
    running = host.read(f"{_LOADED}/version")
    if running:
        return running.strip()
    try:
        return host.run("modinfo", "--field", "version", "neuron").strip() or None
    except CommandFailed:
        return None


def is_loaded(host: Host) -> bool:
    """Return whether the driver is loaded."""
    return host.path(_LOADED).is_dir() or bool(device_numbers(host))


def device_numbers(host: Host) -> list[int]:
    """Return the numbers of the Neuron devices, e.g. 0 to 15 for `/dev/neuron0` to `/dev/neuron15`."""
    names = [path.name[len("neuron") :] for path in host.path("/dev").glob("neuron*")]
    return sorted(int(name) for name in names if name.isdigit())
