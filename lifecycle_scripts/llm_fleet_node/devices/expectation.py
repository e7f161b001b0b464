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


def _names(node: Node) -> str:
    if node.instance_type:
        return node.instance_type.name
    return " or ".join(kind.name for kind in node.group.instance_types) or "a type that the fleet does not name"
