"""The network topology in Slurm's format, from the network layers that the platform lists for each node."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from llm_fleet_node.platform_files import Instance

CONF, YAML = "topology.conf", "topology.yaml"
YAML_SINCE = 25
"""Slurm 25.05 reads topology.yaml, and then not TopologyPlugin and topology.conf (topology.yaml(5))."""
_ROOT = "llm-fleet-root"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9-]")
_LONGEST = 64

Tree = Mapping[str, Sequence[str]]
"""Switches by name, with their nodes or the switches below them; the lowest first."""


def file_name(major: int) -> str:
    """Return the name of the file that Slurm `major` reads."""
    return YAML if major >= YAML_SINCE else CONF


def flat_plugin(major: int) -> str:
    """Return the plugin for an unknown network topology; it was renamed."""
    return "topology/flat" if major >= YAML_SINCE else "topology/default"


def node_name(address: str) -> str:
    """Return the `NodeName` of the node with that address, as HyperPod names them."""
    return "ip-" + address.replace(".", "-")


def tree_of(nodes: Sequence[Instance]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the nodes of each lowest switch, and the switches below each other one; both empty without a tree.

    There is a tree if all nodes have layers, and the same number of them: a node that is missing in the tree would get
    no jobs with several nodes.
    """
    depths = {len(node.topology) for node in nodes}
    if not nodes or len(depths) != 1 or depths == {0} or not all(node.address for node in nodes):
        return {}, {}
    leaves: dict[str, list[str]] = {}
    above: dict[str, list[str]] = {}
    for node in sorted(nodes, key=lambda one: one.address or ""):
        path = [_NOT_IN_NAMES.sub("-", layer)[:_LONGEST] for layer in node.topology]
        leaves.setdefault(path[-1], []).append(node_name(node.address or ""))
        for depth, child in enumerate(path[1:]):
            if child not in above.setdefault(path[depth], []):
                above[path[depth]].append(child)
    tops = sorted({_NOT_IN_NAMES.sub("-", node.topology[0])[:_LONGEST] for node in nodes})
    if len(tops) > 1:
        # Jobs cannot span nodes without a common switch.
        above[_ROOT] = tops
    return leaves, above


def rendered(major: int, leaves: Mapping[str, Sequence[str]], above: Mapping[str, Sequence[str]]) -> str:
    """Return the file with that tree for Slurm `major`."""
    if file_name(major) == CONF:
        lines = [f"SwitchName={name} Nodes={','.join(nodes)}" for name, nodes in leaves.items()]
        lines += [f"SwitchName={name} Switches={','.join(children)}" for name, children in above.items()]
        return "".join(f"{line}\n" for line in lines)
    lines = ["---", "- topology: tree", "  cluster_default: true", "  tree:", "    switches:"]
    for name, children in above.items():
        lines += [f"      - switch: {name}", f"        children: {','.join(children)}"]
    for name, nodes in leaves.items():
        lines += [f"      - switch: {name}", f"        nodes: {','.join(nodes)}"]
    return "".join(f"{line}\n" for line in lines)


def flat_yaml() -> str:
    """Return a topology.yaml for an unknown network topology."""
    return "---\n- topology: flat\n  cluster_default: true\n  flat: true\n"


def says_something(text: str) -> bool:
    """Return whether a topology file has more than comments. With an empty one no job starts."""
    lines = (line.split("#", 1)[0].strip() for line in text.splitlines())
    return any(line and line != "---" for line in lines)
