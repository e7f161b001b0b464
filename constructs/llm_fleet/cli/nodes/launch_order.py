"""Numbers nodes within their groups."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from llm_fleet.cli.nodes.node import Node


def in_launch_order(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Return `nodes` by group and launch, numbered within each group from 1; what is not launched yet comes last."""
    counts: Counter[str] = Counter()
    numbered: list[Node] = []
    for node in sorted(nodes, key=_order):
        counts[node.group] += 1
        numbered.append(replace(node, index=counts[node.group]))
    return tuple(numbered)


def _order(node: Node) -> tuple[str, bool, float, str]:
    launched = node.launched.timestamp() if node.launched else 0.0
    return node.group, node.launched is None, launched, node.instance_id or node.logical_id or ""
