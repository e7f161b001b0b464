"""FSx for Lustre is mounted, writable, and carried by EFA where the fleet says so."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.manifest_parts import Mount
from llm_fleet_node.mounts import lustre_efa
from llm_fleet_node.mounts.efa_proof import prove_efa
from llm_fleet_node.mounts.identity import is_mounted
from llm_fleet_node.mounts.lustre_tuning import tune, write_module_options
from llm_fleet_node.mounts.mounting import ensure_mounted
from llm_fleet_node.mounts.of_group import mounts_of
from llm_fleet_node.mounts.parallelcluster import carry_by_efa, check_was_mounted
from llm_fleet_node.mounts.proof import prove_writable
from llm_fleet_node.mounts.remote import Remote
from llm_fleet_node.node import Node
from llm_fleet_node.step import EVERY_ROLE, Step

_OPTIONS = "noatime,flock,_netdev,x-systemd.mount-timeout=90"
"""`flock`: locks hold over all nodes, as checkpoints and compile caches need. `_netdev`: after the network, at boot.
No `nofail`: systemd would not let slurmd wait for the mount then; without it, one that fails stops no other unit."""
_PORT = 988
_DEADLINE = 120.0
"""Seconds: a file system's DNS name and security group may come into force a little after the node."""


def _apply(node: Node) -> None:
    write_module_options(node.host)
    mounts = mounts_of(node, "lustre")
    if node.on_parallelcluster:
        carry_by_efa(node.host, [mount.mount_path for mount in mounts if _over_efa(node, mount)])
    else:
        for mount in mounts:
            if _over_efa(node, mount):
                lustre_efa.configure(node.host)
            ensure_mounted(node.host, _remote(mount), seconds=_DEADLINE)
    tune(node)


def _verify(node: Node) -> None:
    for mount in mounts_of(node, "lustre"):
        if node.on_parallelcluster:
            check_was_mounted(node.host, mount.mount_path)
        is_mounted(node.host, _remote(mount))
        prove_writable(node.host, mount.mount_path)
        if _over_efa(node, mount):
            node.say(f"{mount.mount_path} is carried by EFA: {prove_efa(node.host, mount.mount_path)}")


def _remote(mount: Mount) -> Remote:
    return Remote(
        kind="lustre",
        server=mount.dns_name,
        port=_PORT,
        device=f"{mount.dns_name}@tcp:/{mount.mount_name}",
        path=mount.mount_path,
        options=_OPTIONS,
    )


def _over_efa(node: Node, mount: Mount) -> bool:
    """Return whether EFA must carry it here. A node without EFA, such as the controller, mounts it over TCP."""
    return bool(mount.efa) and lustre_efa.expects_efa(node)


def _skip(node: Node) -> Optional[str]:
    return None if mounts_of(node, "lustre") else f"group {node.group.name} has no Lustre file system"


STEP = Step(
    name="mount_lustre",
    summary="Lustre file systems are mounted and writable, over EFA where they should be",
    roles=EVERY_ROLE,
    needs=("hosts",),
    skip=_skip,
    apply=_apply,
    verify=_verify,
    timeout=300,
)
