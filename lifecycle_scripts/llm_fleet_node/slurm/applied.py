"""Remembers which configuration slurmctld was last started or reconfigured with."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.host import Host
from llm_fleet_node.node import Node
from llm_fleet_node.slurm import conf_file, topology

_NOTE = "/var/lib/llm-fleet/slurm_configuration.sha256"
_FILES = (
    conf_file.NAME,
    conf_file.OURS,
    "accounting.conf",
    "gres.conf",
    "plugstack.conf",
    topology.CONF,
    topology.YAML,
)


def digest(host: Host, etc: str) -> str:
    """Return the digest of the files in `etc` that slurmctld reads and sends to the nodes."""
    import hashlib

    digest = hashlib.sha256()
    for name in _FILES:
        digest.update(f"{name}\0{host.read(f'{etc}/{name}')}\0".encode())
    return digest.hexdigest()


def noted(node: Node) -> Optional[str]:
    """Return the digest that was noted last; `None` when none was."""
    return (node.host.read(_NOTE) or "").strip() or None


def note(node: Node, digest: str) -> None:
    """Note that slurmctld runs on the configuration with that `digest`."""
    node.host.write(_NOTE, f"{digest}\n")
