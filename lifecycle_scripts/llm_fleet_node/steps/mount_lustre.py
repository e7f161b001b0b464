"""FSx for Lustre is mounted and writable. The step `lustre_efa` checks EFA."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.manifest_parts import Mount
from llm_fleet_node.mounts import lustre_efa
from llm_fleet_node.mounts.identity import is_mounted
from llm_fleet_node.mounts.lustre_tuning import tune, write_module_options
from llm_fleet_node.mounts.mounting import ensure_mounted
from llm_fleet_node.mounts.of_group import mounts_of
from llm_fleet_node.mounts.parallelcluster import check_was_mounted, mount_again
from llm_fleet_node.mounts.proof import prove_writable
from llm_fleet_node.mounts.remote import Remote
from llm_fleet_node.node import Node
from llm_fleet_node.step import EVERY_ROLE, Step

_OPTIONS = "noatime,flock,_netdev,x-systemd.mount-timeout=90"
"""`flock`: locks over all nodes, for checkpoints and compile caches. `_netdev`: after the network, at boot.
No `nofail`: with it, slurmd would not wait for the mount; without it, a failed mount stops no other unit."""
_PORT = 988
_DEADLINE = 120.0
"""Timeout in seconds: DNS name and security group of a new file system can take effect after the node's start."""


def _apply(node: Node) -> None:
    write_module_options(node.host)
    mounts = mounts_of(node, "lustre")
    over_efa = [mount.mount_path for mount in mounts if mount.efa and lustre_efa.why_tcp(node) is None]
    if over_efa:
        lustre_efa.set_up(node, over_efa)
    for mount in mounts:
        if not node.on_parallelcluster:
            ensure_mounted(node.host, _remote(mount), seconds=_DEADLINE)
        elif mount.mount_path in over_efa:
            mount_again(node.host, mount.mount_path)
    tune(node)


def _verify(node: Node) -> None:
    for mount in mounts_of(node, "lustre"):
        if node.on_parallelcluster:
            check_was_mounted(node.host, mount.mount_path)
        is_mounted(node.host, _remote(mount))
        prove_writable(node.host, mount.mount_path)


def _remote(mount: Mount) -> Remote:
    return Remote(
        kind="lustre",
        server=mount.dns_name,
        port=_PORT,
        device=f"{mount.dns_name}@tcp:/{mount.mount_name}",
        path=mount.mount_path,
        options=_OPTIONS,
    )


def _skip(node: Node) -> Optional[str]:
    return None if mounts_of(node, "lustre") else f"group {node.group.name} has no Lustre file system"


STEP = Step(
    name="mount_lustre",
    summary="Lustre file systems are mounted and writable",
    roles=EVERY_ROLE,
    needs=("hosts",),
    skip=_skip,
    apply=_apply,
    verify=_verify,
    timeout=300,
)
