"""The name of the node's system in the manifest's downloads."""

from __future__ import annotations

import os
import re

from llm_fleet_node.host import Host

_DEBIAN_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}
"""Architecture names of the kernel, and Debian's for its packages."""


def system_of(host: Host) -> str:
    """Return e.g. `ubuntu-24.04-amd64`, `debian-13-amd64` or `amzn-2023-x86_64`."""
    reported = os_release(host)
    machine = os.uname().machine
    if host.path("/var/lib/dpkg/status").is_file():
        machine = _DEBIAN_NAMES.get(machine, machine)
    return f"{reported.get('ID', 'unknown')}-{reported.get('VERSION_ID', 'unknown')}-{machine}"


def os_release(host: Host) -> dict[str, str]:
    """Return the keys and values of `/etc/os-release`; empty if there is no such file."""
    return dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', host.read("/etc/os-release") or "", re.MULTILINE))
