"""Which nodes `llm-fleet nodes --group … --status …` shows."""

from collections.abc import Callable, Iterable

from llm_fleet.cli.failure import refuse
from llm_fleet.cli.nodes.listing import Listing
from llm_fleet.cli.nodes.node_row import NodeRow
from llm_fleet.rules.day_two.nodes_codes import NodesCode
from llm_fleet.rules.nearest import did_you_mean


def check_group(listing: Listing, group: str | None) -> None:
    """Raise `FleetError` (LF1104) when the cluster has no such group."""
    known = sorted({node.group for node in listing.nodes} | {count.group for count in listing.counts})
    if group is not None and group not in known:
        remedy = did_you_mean(group, known, otherwise=f"name one of {', '.join(known) or '(none)'}")
        refuse(NodesCode.GROUP_UNKNOWN, "the cluster has no such group", remedy, subject=listing.name, value=group)


def check_status(rows: Iterable[NodeRow], status: str | None, subject: str) -> None:
    """Raise `FleetError` (LF1105) when no node has this status, in AWS's or Slurm's words, nor any has had its like."""
    known = sorted({word for row in rows for word in _words(row)})
    if status is not None and status.lower() not in (word.lower() for word in (*known, *_ALWAYS)):
        remedy = did_you_mean(status, [*known, *_ALWAYS], otherwise=f"there are: {', '.join(known) or '(none)'}")
        refuse(NodesCode.STATUS_UNKNOWN, "no node has this status", remedy, subject=subject, value=status)


def keeps(group: str | None, status: str | None) -> Callable[[NodeRow], bool]:
    """Return what tells whether a row is wanted. `status` may be AWS's or Slurm's, or `differs`."""
    wanted = None if status is None else status.lower()

    def keep(row: NodeRow) -> bool:
        if group is not None and (row.node is None or row.node.group != group):
            return False
        return wanted is None or wanted in {word.lower() for word in _words(row)}

    return keep


_ALWAYS = ("Running", "Failure", "Pending", "ShuttingDown", "SystemUpdating", "DeepHealthCheckInProgress", "differs")
"""Of HyperPod; that no node is in one of them is an answer and no mistake."""


def _words(row: NodeRow) -> Iterable[str]:
    if row.node:
        yield row.node.status
    if row.slurm:
        yield row.slurm.word
        yield row.slurm.state
    if row.differs:
        yield "differs"
