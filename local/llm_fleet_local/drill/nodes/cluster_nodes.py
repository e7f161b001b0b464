"""The common part of back ends: creates a cluster's nodes in parallel, and removes them when its context ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Generic, Protocol, Self, TypeVar

from llm_fleet_local.drill.nodes.backend import NodePlan
from llm_fleet_local.drill.nodes.node import NodeError


class Creatable(Protocol):
    """A node that is not created yet."""

    def create(self) -> None:
        """Create and boot the node."""
        ...


Made = TypeVar("Made", bound=Creatable)


class ClusterNodes(ABC, Generic[Made]):
    """The nodes of one cluster, in the cluster's folder."""

    at_once: ClassVar[int]
    """Number of nodes that boot in parallel."""

    def __init__(self, folder: Path, subnet: str) -> None:
        """Set the cluster's folder and the subnet of its nodes."""
        self._folder = folder
        self._subnet = subnet

    @property
    def folder(self) -> Path:
        """A folder of the machine that is removed with the cluster."""
        return self._folder

    def create(
        self,
        name: str,
        address: str,
        *,
        shared: Mapping[str, Path] | None = None,
        tmpfs: Mapping[str, str] | None = None,
    ) -> Made:
        """Create and boot one node."""
        return self.create_all([NodePlan(name, address, shared or {}, tmpfs or {})])[0]

    def create_all(self, plans: Sequence[NodePlan]) -> list[Made]:
        """Create and boot nodes in parallel; return them in the order of `plans`."""
        nodes = [self._checked(plan) for plan in plans]
        with ThreadPoolExecutor(self.at_once) as pool:
            list(pool.map(_create, nodes))
        return nodes

    @abstractmethod
    def close(self) -> None:
        """Remove all nodes, the network and everything that was created for them."""

    @abstractmethod
    def _node(self, plan: NodePlan) -> Made:
        """Return the node of `plan`, not created yet. Raises `NodeError` when a node of that name exists."""

    def _checked(self, plan: NodePlan) -> Made:
        if IPv4Address(plan.address) not in IPv4Network(self._subnet):
            raise NodeError(f"{plan.name}: {plan.address} is not in the cluster's {self._subnet}")
        return self._node(plan)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _create(node: Creatable) -> None:
    node.create()
