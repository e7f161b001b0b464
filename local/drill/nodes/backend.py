"""The interface of back ends, which create and remove the nodes and the network of one cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from local.drill.nodes.node import Node, Running


@dataclass(frozen=True)
class NodePlan:
    """A node to be made."""

    name: str
    """Host name, e.g. `ip-10-66-1-1`."""
    address: str
    """IPv4 address inside the network's subnet."""
    shared: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """Folders of the machine by mount point. They outlive the node."""
    tmpfs: Mapping[str, str] = field(default_factory=dict[str, str])
    """Memory file systems it gets, by path, with their size, e.g. `{"/opt/dlami/nvme": "64M"}`: empty at each boot."""


class Network(Protocol):
    """The network that one cluster's nodes are in. It is isolated from other clusters and the machine's network."""

    @property
    def subnet(self) -> str:
        """Addresses, e.g. `10.66.0.0/16`."""
        ...

    @property
    def services_address(self) -> str:
        """Address, inside the network, of whatever is started by `start`: the AWS emulator, mirrors."""
        ...

    def start(self, *command: str, env: Mapping[str, str] | None = None, log: Path, cwd: Path | None = None) -> Running:
        """Start a program of the machine inside the network, e.g. a server bound to `services_address`.

        It gets `env` alone, or the caller's environment. It is ended with the cluster.
        """
        ...


class Backend(Protocol):
    """The nodes of one cluster. Leaving its context destroys them all."""

    @property
    def network(self) -> Network:
        """The cluster's network."""
        ...

    @property
    def folder(self) -> Path:
        """A folder of the machine that lives as long as the cluster, for logs and shared file systems."""
        ...

    def create(
        self,
        name: str,
        address: str,
        *,
        shared: Mapping[str, Path] | None = None,
        tmpfs: Mapping[str, str] | None = None,
    ) -> Node:
        """Make and boot one node (see `NodePlan`); return once its systemd answers. Raises `NodeError` if late."""
        ...

    def create_all(self, plans: Sequence[NodePlan]) -> Sequence[Node]:
        """Create and boot nodes in parallel; return them in the order of `plans` once all answer."""
        ...

    def close(self) -> None:
        """Destroy all nodes and the network, and remove everything that was made for them."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
