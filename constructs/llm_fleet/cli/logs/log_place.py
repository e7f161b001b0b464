"""Where the starts of a cluster's nodes are told of: log streams, reports, and the nodes that there are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from llm_fleet.rules.problem import Problem

LogNames = Callable[[str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStream:
    """A stream in which a node's start is told."""

    node: str
    group: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPlace:
    """What there is to read of one cluster."""

    group: str | None
    """Log group; `None` where there is none yet, or no longer."""
    prefix: str = ""
    """What the names of streams with starts begin with; empty where they have nothing in common."""
    streams: tuple[NodeStream, ...] = ()
    """Of starts."""
    nodes: Mapping[str, str] = field(default_factory=dict[str, str])
    """Nodes that there are now, with their groups."""
    bundles: tuple[str, ...] = ()
    """URIs of the bundles that the nodes run."""
    remarks: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    """What AWS would not tell."""
    knows_nodes: bool = True
    """Whether `nodes` was told; without it nobody knows which of the streams' nodes are gone."""

    def lives(self, node: str) -> bool:
        """Return whether a node is there, as far as anybody knows."""
        return not self.knows_nodes or node in self.nodes
