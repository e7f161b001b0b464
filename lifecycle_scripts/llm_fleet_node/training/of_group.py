"""The parts of the training runtime for this node, or why it has none."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.manifest_parts import FOR_EXPORT, Environment, Fabric, Mount, Training
from llm_fleet_node.node import Node

NONE = "none"
"""Value in the jobs' settings for no accelerator and no environment."""


def why_no_training(node: Node) -> Optional[str]:
    """Return why this node has no training runtime, or `None` if it has one."""
    training = node.manifest.training
    if training is None:
        return "the fleet has no training runtime"
    return why_not_mounted(node, training.folder)


def why_not_mounted(node: Node, path: str) -> Optional[str]:
    """Return why this node does not mount the file system of `path`, or `None` if it should.

    Some file systems are mounted only by other groups. One that is not in the manifest, such as the home folders of AWS
    ParallelCluster, is checked on the node itself.
    """
    mount = mount_below(node, path)
    if mount is None or mount.groups is None or node.group.name in mount.groups:
        return None
    return f"group {node.group.name} does not mount {mount.mount_path}, where {path} is"


def mount_below(node: Node, path: str) -> Optional[Mount]:
    """Return the file system of `path` in the manifest; `None` if there is none."""
    found = [mount for mount in node.manifest.mounts if _is_below(path, mount.mount_path)]
    return max(found, key=lambda mount: len(mount.mount_path), default=None)


def training_of(node: Node) -> Training:
    """Return the training runtime; `why_no_training` has said that there is one."""
    if node.manifest.training is None:  # Not reached, because of `skip`.
        fail(Code.UNEXPECTED_ERROR, "the manifest has no training runtime", final=True)
    return node.manifest.training


def environments_of(node: Node) -> list[Environment]:
    """Return the environments of jobs on this node: first for training, then for the export of models."""
    found = [one for one in training_of(node).environments if _is_for(node, one.groups)]
    return sorted(found, key=lambda one: one.use == FOR_EXPORT)


def environment_for(node: Node, use: str) -> Optional[Environment]:
    """Return the default environment of jobs on this node for `use`; `None` if there is none."""
    return next((one for one in environments_of(node) if one.use == use), None)


def fabric_of(node: Node) -> Optional[Fabric]:
    """Return the fabric of jobs on this node; `None` if its group has none."""
    return next((one for one in training_of(node).fabrics if _is_for(node, one.groups)), None)


def accelerator_of(node: Node) -> str:
    """Return `neuron`, `gpu` or `none`: that of the node's type, or of the first type of its group that has one."""
    kinds = [node.instance_type] if node.instance_type else node.group.instance_types
    return next((kind.accelerator for kind in kinds if kind.accelerator), NONE)


def _is_for(node: Node, groups: Optional[tuple[str, ...]]) -> bool:
    return groups is None or node.group.name in groups


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
