"""Lustre uses EFA if the fleet configures it, over all its interfaces; checked with a transfer.

Jobs also run over TCP, but several times slower when they wait for storage: the node is reported as degraded.
"""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.manifest_parts import Mount
from llm_fleet_node.mounts.efa_proof import prove_efa
from llm_fleet_node.mounts.lustre_efa import why_tcp
from llm_fleet_node.mounts.of_group import mounts_of
from llm_fleet_node.node import Node
from llm_fleet_node.step import EVERY_ROLE, Step


def _apply(_: Node) -> None:
    """Nothing: `mount_lustre` sets up LNet before the mount, and it cannot be changed later."""


def _verify(node: Node) -> None:
    for mount in _over_efa(node):
        node.say(f"{mount.mount_path} uses EFA: {prove_efa(node, mount.mount_path)}")


def _over_efa(node: Node) -> list[Mount]:
    return [mount for mount in mounts_of(node, "lustre") if mount.efa]


def _skip(node: Node) -> Optional[str]:
    return why_tcp(node) if _over_efa(node) else f"group {node.group.name} has no Lustre file system with EFA"


STEP = Step(
    name="lustre_efa",
    summary="Lustre file systems with EFA use EFA",
    roles=EVERY_ROLE,
    needs=("mount_lustre",),
    skip=_skip,
    apply=_apply,
    verify=_verify,
    timeout=120,
    is_for_jobs=False,
)
