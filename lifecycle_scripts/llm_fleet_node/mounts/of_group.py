"""The mounts of this node in the manifest."""

from __future__ import annotations

from llm_fleet_node.manifest_parts import Mount, S3Mount
from llm_fleet_node.node import Node


def mounts_of(node: Node, kind: str) -> list[Mount]:
    """Return the file systems of `kind` that the node's group mounts; parent paths first."""
    mounts = [mount for mount in node.manifest.mounts if mount.kind == kind and _is_for(node, mount.groups)]
    return sorted(mounts, key=lambda mount: mount.mount_path)


def s3_mounts_of(node: Node) -> list[S3Mount]:
    """Return the buckets that the node's group mounts."""
    mounts = [mount for mount in node.manifest.s3_mounts if _is_for(node, mount.groups)]
    return sorted(mounts, key=lambda mount: mount.mount_path)


def _is_for(node: Node, groups: object) -> bool:
    return groups is None or (isinstance(groups, tuple) and node.group.name in groups)
