"""The controller's state of a node."""

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
"""Link to the configuration that slurmd has fetched."""
_FIELD = re.compile(r"(?:^|\s)(\w+)=(\S*)")
_REASON = re.compile(r"\bReason=(.*?)(?: \[([^\s\[\]@]+)@[^\s\]]+\].*)?$")
"""The reason and its user: `Reason=TEXT [USER@TIME]`. Source: src/api/node_info.c, slurm_sprint_node_table."""
_NOT_RESPONDING = "*"
_SLURM_USER = "slurm"
"""SlurmUser in the slurm.conf of HyperPod and llm-fleet; Slurm's default is root."""

OURS = "llm-fleet:"
"""Prefix of the reason of a node that llm-fleet's health check drained."""
AGENT = "Action:"
"""Prefix of reasons with which users request a reboot or replacement from HyperPod (SageMaker developer guide)."""
SPOOL_FULL = "SlurmdSpoolDir is full"
_BY_DAEMONS_OF_NODES = (
    SPOOL_FULL,
    "Kill task failed",
    "Job step not running",
    "switch_g_job_postfini failed",
    "Failed to set node feature",
    "Cannot collect energy data",
)
"""Prefixes of the reasons of slurmd and slurmstepd, which run as root, as `sudo scontrol` does.

Source: Slurm 21.08 to 26.05, the calls of slurm_update_node in src/slurmd and src/plugins/acct_gather_energy. slurmctld
sets its reasons as SlurmUser (drain_nodes, set_node_reason), so they need no list.
assumption: slurm-daemons-reasons-in-roots-name
"""
_OVER = ("Not responding", "Node unexpectedly rebooted")
"""Reasons of a node that was not responding. They no longer apply after the node has registered."""


@dataclass(frozen=True)
class Registered:
    """A node in slurmctld."""

    states: frozenset[str]
    """E.g. `IDLE` and `DRAIN`."""
    responds: bool
    """Whether slurmd has registered since its start, and responds."""
    reason: str
    by_slurm: bool
    """Whether a Slurm daemon set the reason, not a user or the platform's agent."""

    @property
    def works(self) -> bool:
        """Whether it runs jobs or is available for jobs."""
        return self.responds and not self.states & {"DOWN", "DRAIN", "FAIL", "FAILING", "UNKNOWN", "FUTURE"}

    @property
    def held_by_us(self) -> bool:
        """Whether llm-fleet's health check drained it."""
        return self.reason.startswith(OURS)

    @property
    def held_by_others(self) -> bool:
        """Whether a user or HyperPod's agent drained it, who resume it themselves."""
        return bool(self.reason) and not self.held_by_us and not self.by_slurm

    @property
    def was_away(self) -> bool:
        """Whether it is held only because it was not responding."""
        return self.reason.startswith(_OVER)

    @property
    def had_no_room(self) -> bool:
        """Whether Slurm drained it because its daemon could not write."""
        return self.reason == SPOOL_FULL


def registered(host: Host, name: str) -> Optional[Registered]:
    """Return the node `name` from slurmctld, with one query; `None` if it is unknown or slurmctld does not answer."""
    if not has_configuration(host):
        return None  # scontrol would search for a controller in DNS, for seconds
    try:
        text = host.run("scontrol", "--oneliner", "show", "node", name, timeout=20)
    except CommandFailed:
        return None
    conf = configuration(host)
    return parsed(text, slurm_user=(conf.value("SlurmUser") if conf else None) or _SLURM_USER)


def login_is_unlisted(node: Node, name: str) -> bool:
    """Return whether this is a login node that is not among Slurm's nodes, while the controller answers.

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
    """Parse a line of `scontrol --oneliner show node`; slurmctld runs as `slurm_user`."""
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
    """Return whether Slurm set `reason`, as `user`.

    If slurmctld runs as root, root's reasons count as Slurm's: so a broken node is not taken for one that a user has
    drained. A reason without a user is from slurm.conf, or from a Slurm that lost the user.
    """
    if reason.startswith(AGENT):
        return False
    return user in ("", slurm_user) or (user == "root" and reason.startswith(_BY_DAEMONS_OF_NODES))


def configuration(host: Host) -> Optional[ConfFile]:
    """Return the slurm.conf of this node's daemon: the one from the controller, otherwise its own."""
    return read(host, SENT) or read(host, found(host).etc)


def has_configuration(host: Host) -> bool:
    """Return whether this node has a configuration for Slurm's programs."""
    return os.path.lexists(host.path(SENT)) or host.path(f"{found(host).etc}/{NAME}").exists()
