"""The table of `llm-fleet nodes`, and what is said below it."""

from collections import Counter
from collections.abc import Iterator, Sequence

from llm_fleet.cli.nodes.listing import Listing
from llm_fleet.cli.nodes.node_row import NodeRow
from llm_fleet.cli.terminal.screen import Screen
from llm_fleet.cli.terminal.table import Column, Table
from llm_fleet.cli.terminal.tone import Tone, Toned

_COLUMNS = (
    Column(key="label", title="NODE"),
    Column(key="name", title="NAME"),
    Column(key="id", title="INSTANCE"),
    Column(key="type", title="TYPE"),
    Column(key="status", title="AWS"),
    Column(key="slurm", title="SLURM"),
    Column(key="jobs", title="JOBS"),
    Column(key="said", title="SAID", wraps=True),
)
_LESS = ("name", "id", "type")
_BLOCKS, _WIDE = 60, 120
"""Columns of a screen: below the first each node is a block of lines, from the second on everything has its column."""
_JOBS = 2
"""Jobs that are named; of more, their number."""
_GOOD = frozenset({"Running", "running", "RUNNING", "ACTIVE"})
_BAD = frozenset({"Failure", "NotFound", "stopped", "STOPPED", "terminated"})


def nodes_table(rows: Sequence[NodeRow], screen: Screen) -> Table:
    """Return the table: with what is needed at night on a screen that is not wide enough for all."""
    medium = screen.width is not None and _BLOCKS <= screen.width < _WIDE
    columns = [one for one in _COLUMNS if one.key not in _LESS] if medium else _COLUMNS
    return Table(columns=columns, rows=[_row(row) for row in rows])


def summary(listing: Listing, rows: Sequence[NodeRow]) -> list[str]:
    """Return lines that count: nodes by status, Slurm's by state, groups that lack nodes, and differences."""
    return list(_summary(listing, rows))


def _row(row: NodeRow) -> dict[str, str | Toned | None]:
    node, slurm = row.node, row.slurm
    return {
        "label": node.label if node else (slurm.name if slurm else None),
        "name": node.name or (slurm.name if slurm else None) if node else None,
        "id": (node.instance_id or node.logical_id) if node else None,
        "type": node.instance_type if node else None,
        "status": Toned(node.status, _aws_tone(node.status)) if node else None,
        "slurm": Toned(slurm.state, _slurm_tone(row)) if slurm else None,
        "jobs": _jobs(slurm.jobs) if slurm else None,
        "said": Toned(row.said, Tone.BAD if row.is_bad else Tone.WARNING) if row.said else None,
    }


def _aws_tone(status: str) -> Tone:
    return Tone.GOOD if status in _GOOD else Tone.BAD if status in _BAD else Tone.WARNING


def _slurm_tone(row: NodeRow) -> Tone:
    slurm = row.slurm
    if slurm is None or slurm.works:
        return Tone.GOOD
    return Tone.BAD if slurm.is_lost else Tone.WARNING


def _jobs(jobs: Sequence[str]) -> str | None:
    if not jobs:
        return None
    return ", ".join(jobs) if len(jobs) <= _JOBS else f"{jobs[0]} and {len(jobs) - 1} more"


def _summary(listing: Listing, rows: Sequence[NodeRow]) -> Iterator[str]:
    nodes = [row.node for row in rows if row.node]
    said = f"{listing.name}: {len(nodes)} {'node' if len(nodes) == 1 else 'nodes'}"
    statuses = Counter(node.status for node in nodes)
    yield f"{said}: {_counted(statuses)}" if nodes else said
    states = Counter(row.slurm.state for row in rows if row.slurm)
    if states:
        yield f"Slurm: {_counted(states)}"
    if listing.status not in ("", "InService", "ACTIVE") or listing.message:
        yield f"AWS says of the whole: {': '.join(part for part in (listing.status, listing.message) if part)}"
    if listing.note:
        yield listing.note
    for count in listing.counts:
        if count.current != count.wanted:
            yield f"group {count.group} has {count.current} of the {count.wanted} nodes that are wanted"
    differing = sum(1 for row in rows if row.differs)
    if differing:
        yield f"{differing} {'differs' if differing == 1 else 'differ'} between AWS and Slurm"


def _counted(found: Counter[str]) -> str:
    return ", ".join(f"{number} {word}" for word, number in found.most_common())
