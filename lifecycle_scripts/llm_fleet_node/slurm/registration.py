"""What the controller thinks of a node."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Optional

from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.slurm.conf_file import NAME
from llm_fleet_node.slurm.installation import found

_SENT = "/run/slurm/conf"
"""Link to the configuration that slurmd fetched."""
_FIELD = re.compile(r"(?:^|\s)(\w+)=(\S*)")
_REASON = re.compile(r"\bReason=(.*?)(?: \[\S+@\S+\])?\s*(?:Comment=.*)?$")
_NOT_RESPONDING = "*"

OURS = "llm-fleet:"
"""Begins the reason of a node that our own check drained."""
_BY_SLURM = (
    "Low ",
    "Not responding",
    "Node unexpectedly rebooted",
    "gres/",
    "Prolog error",
    "Epilog error",
    "Kill task failed",
    "batch job complete failure",
    "Duplicate jobid",
    "Configuration and",
    "hung",
)
"""How reasons begin that Slurm itself gives (slurmctld's source has no list of them)."""
_OVER = ("Not responding", "Node unexpectedly rebooted")
"""What Slurm says of a node that was away. It is over once the node has registered."""


@dataclass(frozen=True)
class Registered:
    """A node, as slurmctld shows it."""

    states: frozenset[str]
    """E.g. `IDLE` and `DRAIN`."""
    responds: bool
    """Whether slurmd has registered since its start, and answers."""
    reason: str

    @property
    def works(self) -> bool:
        """Whether it runs jobs or could."""
        return self.responds and not self.states & {"DOWN", "DRAIN", "FAIL", "FAILING", "UNKNOWN", "FUTURE"}

    @property
    def held_by_us(self) -> bool:
        """Whether our own check drained it."""
        return self.reason.startswith(OURS)

    @property
    def held_by_slurm(self) -> bool:
        """Whether Slurm itself found something wrong with it."""
        return self.reason.startswith(_BY_SLURM)

    @property
    def was_away(self) -> bool:
        """Whether it is held for nothing but that it was away."""
        return self.reason.startswith(_OVER)


def registered(host: Host, name: str) -> Optional[Registered]:
    """Return what slurmctld says of the node `name`, by one question; `None` when it does not know it or answer."""
    if not has_configuration(host):
        return None  # scontrol would look for a controller in DNS, for seconds
    try:
        text = host.run("scontrol", "--oneliner", "show", "node", name, timeout=20)
    except CommandFailed:
        return None
    return parsed(text)


def parsed(text: str) -> Optional[Registered]:
    """Return what one line of `scontrol --oneliner show node` says."""
    fields = dict(_FIELD.findall(text))
    state = fields.get("State")
    if not state:
        return None
    reason = _REASON.search(text.strip())
    states = frozenset(re.sub(r"[^A-Z_+]", "", state).split("+"))
    started = fields.get("SlurmdStartTime", "None") not in ("None", "Unknown")
    return Registered(states, started and _NOT_RESPONDING not in state, reason.group(1) if reason else "")


def has_configuration(host: Host) -> bool:
    """Return whether Slurm's programs find a configuration on this node."""
    return os.path.lexists(host.path(_SENT)) or host.path(f"{found(host).etc}/{NAME}").exists()
