"""Which node is meant, and whether a session can reach it."""

from llm_fleet.cli.failure import refuse
from llm_fleet.cli.nodes.listing import Listing
from llm_fleet.cli.nodes.node import Node, NodeRole
from llm_fleet.cli.nodes.node_row import rows_of
from llm_fleet.cli.nodes.wanted_node import wanted_node
from llm_fleet.cli.place.place import Kind, Place
from llm_fleet.rules.day_two.nodes_codes import NodesCode
from llm_fleet.rules.problem import FleetError


def reached_node(listing: Listing, asked: str | None, place: Place, region: str) -> Node:
    """Return the node that `asked` means. Raises `FleetError` (LF1101 to LF1103, LF1108) unless a session can begin."""
    try:
        node = wanted_node(listing, asked)
    except FleetError:
        found = _by_slurm(listing, asked, region) if place.kind is Kind.PARALLELCLUSTER else None
        if found is None:
            raise
        node = found
    if not node.running:
        said = f": {node.message}" if node.message else ""
        refuse(
            NodesCode.NODE_NOT_RUNNING,
            f"{node.label} is {node.status}{said}",
            "wait until it runs, `llm-fleet nodes --watch` shows it; `llm-fleet logs` tells why it does not",
            subject=str(place),
        )
    if node.role is NodeRole.TASK and node.task_arn is None:
        refuse(
            NodesCode.NOT_REACHED,
            "the service lets nobody into its tasks",
            "write `execute_command: true` for the service in the fleet file and deploy it; or name a host, as in "
            "`llm-fleet connect host-1`",
            subject=str(place),
        )
    if node.role is not NodeRole.TASK and node.target is None:
        refuse(
            NodesCode.NOT_REACHED,
            f"{node.label} has no machine yet",
            "wait until it runs, `llm-fleet nodes --watch` shows it",
            subject=str(place),
        )
    return node


def _by_slurm(listing: Listing, asked: str | None, region: str) -> Node | None:
    """Return the node of ParallelCluster that Slurm knows by this name, e.g. `trn1-st-node-1`: no tag tells it."""
    from llm_fleet.cli.nodes.slurm_session import ask_slurm

    try:
        rows = rows_of(listing, ask_slurm(listing, region))
    except FleetError:
        return None
    return next((row.node for row in rows if row.node and row.slurm and row.slurm.name == asked), None)
