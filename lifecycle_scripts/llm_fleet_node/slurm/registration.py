"""What the controller thinks of a node."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Optional

from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.node import Node
from llm_fleet_node.slurm.conf_file import NAME, ConfFile, read
from llm_fleet_node.slurm.installation import found
from llm_fleet_node.step import LOGIN

SENT = "/run/slurm/conf"
"""Link to the configuration that slurmd fetched."""
_FIELD = re.compile(r"(?:^|\s)(\w+)=(\S*)")
_REASON = re.compile(r"\bReason=(.*?)(?: \[([^\s\[\]@]+)@[^\s\]]+\].*)?$")
"""The reason, and who gave it: `Reason=TEXT [USER@TIME]`. Source: src/api/node_info.c, slurm_sprint_node_table."""
_NOT_RESPONDING = "*"
_SLURM_USER = "slurm"
"""What HyperPod's and our own slurm.conf have as SlurmUser; Slurm's default is root."""

OURS = "llm-fleet:"
"""Begins the reason of a node that our own check drained."""
AGENT = "Action:"
"""Begins the reasons by which HyperPod is asked to reboot or replace a node (SageMaker developer guide)."""
SPOOL_FULL = "SlurmdSpoolDir is full"
_BY_DAEMONS_OF_NODES = (
    SPOOL_FULL,
    "Kill task failed",
    "Job step not running",
    "switch_g_job_postfini failed",
    "Failed to set node feature",
    "Cannot collect energy data",
)
"""How the reasons begin that slurmd and slurmstepd give, which run as root, as `sudo scontrol` does.

Source: Slurm 21.08 to 26.05, the calls of slurm_update_node in src/slurmd and src/plugins/acct_gather_energy. slurmctld
gives its own reasons as SlurmUser (drain_nodes, set_node_reason): of those there need be no list.
assumption: slurm-daemons-reasons-in-roots-name
"""
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
    by_slurm: bool
    """Whether one of Slurm's daemons gave the reason, and neither a person nor the platform's agent."""

    @property
    def works(self) -> bool:
        """Whether it runs jobs or could."""
        return self.responds and not self.states & {"DOWN", "DRAIN", "FAIL", "FAILING", "UNKNOWN", "FUTURE"}

    @property
    def held_by_us(self) -> bool:
        """Whether our own check drained it."""
        return self.reason.startswith(OURS)

    @property
    def held_by_others(self) -> bool:
        """Whether a person drained it, or HyperPod's agent: they give it back themselves."""
        return bool(self.reason) and not self.held_by_us and not self.by_slurm

    @property
    def was_away(self) -> bool:
        """Whether it is held for nothing but that it was away."""
        return self.reason.startswith(_OVER)

    @property
    def had_no_room(self) -> bool:
        """Whether Slurm drained it because its daemon could not write."""
        return self.reason == SPOOL_FULL


def registered(host: Host, name: str) -> Optional[Registered]:
    """Return what slurmctld says of the node `name`, by one question; `None` when it does not know it or answer."""
    if not has_configuration(host):
        return None  # scontrol would look for a controller in DNS, for seconds
    try:
        text = host.run("scontrol", "--oneliner", "show", "node", name, timeout=20)
    except CommandFailed:
        return None
    conf = configuration(host)
    return parsed(text, slurm_user=(conf.value("SlurmUser") if conf else None) or _SLURM_USER)


def login_is_unlisted(node: Node, name: str) -> bool:
    """Return whether this is a login node that the platform has left out of Slurm's nodes, and the controller answers.

    assumption: hyperpod-login-nodes-in-slurm
    """
    if node.role != LOGIN or not found(node.host).by_platform:
        return False
    try:
        node.host.run("scontrol", "--oneliner", "show", "node", name, timeout=20)
    except CommandFailed as error:
        return "not found" in error.output and node.host.succeeds("sinfo", "--noheader", timeout=20)
    return False


def parsed(text: str, *, slurm_user: str = _SLURM_USER) -> Optional[Registered]:
    """Return what one line of `scontrol --oneliner show node` says; slurmctld runs as `slurm_user`."""
    fields = dict(_FIELD.findall(text))
    state = fields.get("State")
    if not state:
        return None
    reason = _REASON.search(text.strip())
    states = frozenset(re.sub(r"[^A-Z_+]", "", state).split("+"))
    started = fields.get("SlurmdStartTime", "None") not in ("None", "Unknown")
    why, user = (reason.group(1), reason.group(2) or "") if reason else ("", "")
    return Registered(states, started and _NOT_RESPONDING not in state, why, _is_slurms(why, user, slurm_user))


def _is_slurms(reason: str, user: str, slurm_user: str) -> bool:
    """Return whether Slurm gave `reason`, in the name of `user`.

    Where slurmctld runs as root, root's reasons count as its own: a broken node never passes for one that a person
    looks after. A reason without a user is of slurm.conf, or of a Slurm that forgot who gave it.
    """
    if reason.startswith(AGENT):
        return False
    return user in ("", slurm_user) or (user == "root" and reason.startswith(_BY_DAEMONS_OF_NODES))


def configuration(host: Host) -> Optional[ConfFile]:
    """Return the slurm.conf that this node's daemon goes by: what the controller sent it, else its own."""
    return read(host, SENT) or read(host, found(host).etc)


def has_configuration(host: Host) -> bool:
    """Return whether Slurm's programs find a configuration on this node."""
    return os.path.lexists(host.path(SENT)) or host.path(f"{found(host).etc}/{NAME}").exists()
