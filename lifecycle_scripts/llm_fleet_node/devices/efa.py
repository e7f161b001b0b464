"""EFA interfaces in the kernel and in libfabric."""

from __future__ import annotations

import re
from typing import Optional

from llm_fleet_node.host import CommandFailed, Host

_CLASS = "/sys/class/infiniband"
_AMAZON, _EFA = "0x1d0f", "0xefa"
"""PCI ids: Amazon's vendor id, and the prefix of EFA's device ids."""


def interfaces(host: Host) -> list[str]:
    """Return the names of the EFA interfaces in the kernel, e.g. `rdmap16s27`. By PCI id, because udev renames them."""
    folder = host.path(_CLASS)
    if not folder.is_dir():
        return []
    names = sorted(entry.name for entry in folder.iterdir())
    return [name for name in names if name.startswith("efa") or _is_efa(host, name)]


def fabric_domains(host: Host) -> Optional[set[str]]:
    """Return the interfaces that libfabric's EFA provider can use; `None` if the node has no `fi_info`."""
    if host.which("fi_info") is None:
        return None
    try:
        reported = host.run("fi_info", "-p", "efa")
    except CommandFailed:
        return set()
    return {re.sub(r"-(rdm|dgrm)$", "", domain) for domain in re.findall(r"^\s*domain: (\S+)$", reported, re.MULTILINE)}


def _is_efa(host: Host, name: str) -> bool:
    device = f"{_CLASS}/{name}/device"
    vendor, kind = (host.read(f"{device}/{what}") or "" for what in ("vendor", "device"))
    return vendor.strip() == _AMAZON and kind.strip().startswith(_EFA)
