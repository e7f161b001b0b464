"""What AWS tells of a cluster or service and its nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

from llm_fleet.cli.nodes.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCount:
    """How many nodes a group has, of how many that are wanted."""

    group: str
    current: int
    wanted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The nodes, by group and in the order of their launch, and what is said of all of them."""

    nodes: Sequence[Node]
    name: str
    """What AWS calls the cluster or service, in full."""
    status: str = ""
    """Of the cluster; empty where there is no such thing."""
    message: str = ""
    """What AWS says of the status."""
    note: str = ""
    """What else is to be known of the whole."""
    has_slurm: bool = True
    """Whether Slurm runs on it: not on a service, nor on a HyperPod cluster of EKS."""
    counts: Sequence[GroupCount] = ()
    """Of each group; empty where AWS does not tell what is wanted."""
