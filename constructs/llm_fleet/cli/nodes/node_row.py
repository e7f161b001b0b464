"""One node as AWS and Slurm see it, side by side, and where the two differ."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llm_fleet.cli.nodes.listing import Listing
from llm_fleet.cli.nodes.node import Node, NodeRole
from llm_fleet.cli.nodes.slurm_view import SlurmNode, SlurmView

_FAILED = frozenset({"Failure", "NotFound"})
_NO_WORK = (NodeRole.CONTROLLER, NodeRole.LOGIN, NodeRole.HEAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """What is known of one node; one of the two sides may be missing."""

    node: Node | None
    slurm: SlurmNode | None
    differs: str = ""
    """How the two views contradict each other; empty when they do not."""

    @property
    def is_bad(self) -> bool:
        """Whether somebody should look at it."""
        return bool(self.differs) or (self.node is not None and self.node.status in _FAILED)

    @property
    def said(self) -> str:
        """Everything that is said of it: AWS's message, Slurm's reason, the difference."""
        parts = (self.differs, self.node.message if self.node else "", self.slurm.reason if self.slurm else "")
        return "; ".join(part for part in parts if part)

    def told(self) -> dict[str, Any]:
        """Return it for `--json`."""
        found: dict[str, Any] = self.node.told() if self.node else {}
        if self.slurm:
            slurm = {"name": self.slurm.name, "state": self.slurm.state, "reason": self.slurm.reason}
            found["slurm"] = {**slurm, "jobs": list(self.slurm.jobs)}
        return found | ({"differs": self.differs} if self.differs else {})


def rows_of(listing: Listing, view: SlurmView | None) -> tuple[NodeRow, ...]:
    """Return a row for each node of AWS, then for each that only Slurm knows and that is not powered down."""
    if view is None:
        return tuple(NodeRow(node=node, slurm=None) for node in listing.nodes)
    return tuple(_joined(listing.nodes, view))


def _joined(nodes: Sequence[Node], view: SlurmView) -> Iterator[NodeRow]:
    met: set[str] = set()
    by_address = {one.address: one for one in view.nodes.values()}
    for node in nodes:
        slurm = _slurm_of(node, view, by_address)
        if slurm is not None:
            met.add(slurm.name)
        yield NodeRow(node=node, slurm=slurm, differs=_difference(node, slurm))
    for slurm in view.nodes.values():
        if slurm.name not in met and not slurm.is_off:
            yield NodeRow(node=None, slurm=slurm, differs=f"Slurm knows it as {slurm.state}, AWS has no such node")


def _slurm_of(node: Node, view: SlurmView, by_address: Mapping[str, SlurmNode]) -> SlurmNode | None:
    """Return what Slurm knows by the node's name, by its address, or by the address that the controller has of it."""
    if node.name is not None and node.name in view.nodes:
        return view.nodes[node.name]
    address = node.address or view.addresses.get(node.instance_id or "")
    if address is None:
        return None
    return view.nodes.get(f"ip-{address.replace('.', '-')}") or by_address.get(address)


def _difference(node: Node, slurm: SlurmNode | None) -> str:
    if slurm is None:
        return _absence(node)
    if node.running and slurm.is_lost:
        return f"AWS says {node.status}, Slurm says {slurm.state}"
    if node.running and slurm.is_off:
        return f"AWS runs it, and Slurm has powered it down ({slurm.state})"
    if not node.running and slurm.works:
        return f"AWS says {node.status}, and Slurm gives it work ({slurm.state})"
    if node.role in _NO_WORK and slurm.jobs:
        return f"a job runs on a {node.role} node"
    return ""


def _absence(node: Node) -> str:
    """Return what is wrong when Slurm does not know a node: compute nodes it should."""
    if node.running and node.role is NodeRole.COMPUTE:
        return f"AWS says {node.status}, Slurm does not know it"
    return ""
