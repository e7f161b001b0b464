"""What a node is expected to have, by its instance type."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.node import Node


def why_none(node: Node, accelerator: str) -> Optional[str]:
    """Return why this node has no `accelerator` (`gpu` or `neuron`), or `None` when it has.

    A group that mixes types, of which none can be told, has it as soon as one of its types does.
    """
    kinds = [node.instance_type] if node.instance_type else node.group.instance_types
    if any(kind.accelerator == accelerator for kind in kinds):
        return None
    return f"{_names(node)} has no {accelerator} devices"


def expected_accelerators(node: Node) -> Optional[int]:
    """Return how many accelerators the node should have; `None` when nobody told."""
    return node.instance_type.accelerators if node.instance_type else None


def expected_interfaces(node: Node) -> Optional[int]:
    """Return how many EFA interfaces the node should have; `None` when nobody told."""
    return node.instance_type.efa_interfaces if node.instance_type else None


def needs_every_interface(node: Node) -> bool:
    """Return whether jobs need all of the EFA interfaces that the type has.

    They do where a fabric of the group talks over EFA, and on types with several, which are made for it. On others,
    such as a CPU type of which the largest size has one, nobody may use it, and it is doubtful that the platform
    attaches it. assumption: hyperpod-attaches-efa-to-small-types
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
    return " or ".join(kind.name for kind in node.group.instance_types) or "a type that the fleet does not name"
