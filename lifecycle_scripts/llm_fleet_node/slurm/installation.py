"""The Slurm installation of this node."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host

PLATFORM_HOME = "/opt/slurm"
"""A link to the active of two versions on HyperPod's AMI, and a shared folder on ParallelCluster."""
_DISTRIBUTION_ETC = ("/etc/slurm", "/etc/slurm-llnl")
"""Debian, Ubuntu and Red Hat; before Slurm 20 on Ubuntu."""


@dataclass(frozen=True)
class Installation:
    """An installed Slurm. Its programs are found by name: `Host` searches `/opt/slurm` first."""

    etc: str
    """Folder of its configuration."""
    by_platform: bool
    """Whether the platform installed it; its agent then writes slurm.conf and munge key, otherwise llm-fleet does."""


def find(host: Host) -> Optional[Installation]:
    """Return the node's Slurm; `None` if there is none.

    `/opt/slurm` comes first, because the platform starts that one.
    """
    for program in ("bin/scontrol", "sbin/slurmd", "sbin/slurmctld"):
        if host.path(f"{PLATFORM_HOME}/{program}").exists():
            return Installation(f"{PLATFORM_HOME}/etc", by_platform=True)
    if host.which("scontrol") is None:
        return None
    known = (folder for folder in _DISTRIBUTION_ETC if host.path(folder).is_dir())
    return Installation(next(known, _DISTRIBUTION_ETC[0]), by_platform=False)


def version(host: Host) -> tuple[int, int]:
    """Return the release of the controller's Slurm, e.g. `(24, 11)`; `(0, 0)` if unknown."""
    numbers = re.search(r"\b(\d\d)\.(\d\d)\b", host.run("slurmctld", "-V"))  # slurm 24.11.5
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def found(host: Host) -> Installation:
    """Return the node's Slurm. Raises `Failure` if there is none."""
    slurm = find(host)
    if slurm is None:
        fail(Code.SLURM_MISSING, f"no scontrol in {PLATFORM_HOME}/bin, and none from the distribution")
    return slurm
