"""The devices that a node should have, from its instance type."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.node import Node


def why_none(node: Node, accelerator: str) -> Optional[str]:
    """Return why this node has no `accelerator` (`gpu` or `neuron`), or `None` if it has one.

    In a group of mixed types, when the node's type is unknown, one type with the accelerator is enough.
    """
    kinds = [node.instance_type] if node.instance_type else node.group.instance_types
    if any(kind.accelerator == accelerator for kind in kinds):
        return None
    return f"{_names(node)} has no {accelerator} devices"


def expected_accelerators(node: Node) -> Optional[int]:
    """Return how many accelerators the node should have; `None` if unknown."""
    return node.instance_type.accelerators if node.instance_type else None


def expected_interfaces(node: Node) -> Optional[int]:
    """Return how many EFA interfaces the node should have; `None` if unknown."""
    return node.instance_type.efa_interfaces if node.instance_type else None


def needs_every_interface(node: Node) -> bool:
    """Return whether jobs need all EFA interfaces of the instance type.

    They do if a fabric of the group uses EFA, and on types with several interfaces, which are designed for it. On
    others, such as the largest size of a CPU type with one interface, EFA may be unused, and the platform may not
    attach it. assumption: hyperpod-attaches-efa-to-small-types
    """
    if (expected_interfaces(node) or 0) > 1:
        return True
    training = node.manifest.training
    return training is not None and any(
        variable.name == "FI_PROVIDER" and variable.value == "efa"
        for fabric in training.fabrics
        if fabric.groups is None or node.group.name in fabric.groups
        for variable in fabric.variables
    )


def _names(node: Node) -> str:
    if node.instance_type:
        return node.instance_type.name
    return " or ".join(kind.name for kind in node.group.instance_types) or "a type that is not in fleet.json"
