"""The table of nodes: rows, filters, output and `--watch`."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn

from llm_fleet.cli.clients import AwsRefusal
from llm_fleet.cli.nodes.node import Listing, Node, NodeRole
from llm_fleet.cli.nodes.slurm_view import SlurmNode, SlurmView
from llm_fleet.cli.screen import Screen, Tone, Toned, counted, painted, plain_text
from llm_fleet.cli.table import Column, Table
from llm_fleet.cli.verb import ExitCode, refuse
from llm_fleet.rules.feature_codes import CommandCode, NodesCode
from llm_fleet.rules.problem import FleetError, Problem
from llm_fleet.rules.values import did_you_mean

_FAILED = frozenset({"Failure", "NotFound"})
_NO_WORK = (NodeRole.CONTROLLER, NodeRole.LOGIN, NodeRole.HEAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """A node in AWS and in Slurm; it may be missing in one of them."""

    node: Node | None
    slurm: SlurmNode | None
    differs: str = ""
    """The difference between AWS and Slurm; empty if there is none."""

    @property
    def is_bad(self) -> bool:
        """Whether the node needs attention."""
        return bool(self.differs) or (self.node is not None and self.node.status in _FAILED)

    @property
    def said(self) -> str:
        """AWS's message, Slurm's reason, and the difference."""
        parts = (self.differs, self.node.message if self.node else "", self.slurm.reason if self.slurm else "")
        return "; ".join(part for part in parts if part)

    def as_json(self) -> dict[str, Any]:
        """Return the row or the view for `--json`."""
        found: dict[str, Any] = self.node.as_json() if self.node else {}
        if self.slurm:
            slurm = {"name": self.slurm.name, "state": self.slurm.state, "reason": self.slurm.reason}
            found["slurm"] = {**slurm, "jobs": list(self.slurm.jobs)}
        return found | ({"differs": self.differs} if self.differs else {})


def rows_of(listing: Listing, view: SlurmView | None) -> tuple[NodeRow, ...]:
    """Return a row for each node in AWS, then for each node that is only in Slurm and not powered down."""
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
            yield NodeRow(
                node=None, slurm=slurm, differs=f"Slurm has it as {slurm.state}, but it does not exist in AWS"
            )


def _slurm_of(node: Node, view: SlurmView, by_address: Mapping[str, SlurmNode]) -> SlurmNode | None:
    """Return the Slurm node with the node's name or address, or with its address on the controller."""
    if node.name is not None and node.name in view.nodes:
        return view.nodes[node.name]
    address = node.address or view.addresses.get(node.instance_id or "")
    if address is None:
        return None
    return view.nodes.get(f"ip-{address.replace('.', '-')}") or by_address.get(address)


def _difference(node: Node, slurm: SlurmNode | None) -> str:
    if slurm is None:
        missed = node.running and node.role is NodeRole.COMPUTE
        return f"{node.status} in AWS, but not in Slurm" if missed else ""
    if node.running and slurm.is_lost:
        return f"{node.status} in AWS, but {slurm.state} in Slurm"
    if node.running and slurm.is_off:
        return f"running in AWS, but powered down in Slurm ({slurm.state})"
    if not node.running and slurm.works:
        return f"{node.status} in AWS, but Slurm schedules jobs on it ({slurm.state})"
    if node.role in _NO_WORK and slurm.jobs:
        return f"a job runs on a {node.role} node"
    return ""


def check_group(listing: Listing, group: str | None) -> None:
    """Raise `FleetError` (LF1104) if the cluster does not have this group."""
    known = sorted({node.group for node in listing.nodes} | {count.group for count in listing.counts})
    if group is not None and group not in known:
        remedy = did_you_mean(group, known, otherwise=f"name one of {', '.join(known) or '(none)'}")
        refuse(NodesCode.GROUP_UNKNOWN, "unknown group of the cluster", remedy, subject=listing.name, value=group)


def check_status(rows: Iterable[NodeRow], status: str | None, subject: str) -> None:
    """Raise `FleetError` (LF1105) if `status` is neither one of a node in AWS or Slurm, nor a known one of HyperPod."""
    known = sorted({word for row in rows for word in _words(row)})
    if status is not None and status.lower() not in (word.lower() for word in (*known, *_ALWAYS)):
        remedy = did_you_mean(status, [*known, *_ALWAYS], otherwise=f"choose one of: {', '.join(known) or '(none)'}")
        refuse(NodesCode.STATUS_UNKNOWN, "no node has this status", remedy, subject=subject, value=status)


def keeps(group: str | None, status: str | None) -> Callable[[NodeRow], bool]:
    """Return the filter of rows. `status`: one of AWS or Slurm, or `differs`."""
    wanted = None if status is None else status.lower()

    def keep(row: NodeRow) -> bool:
        if group is not None and (row.node is None or row.node.group != group):
            return False
        return wanted is None or wanted in {word.lower() for word in _words(row)}

    return keep


_ALWAYS = ("Running", "Failure", "Pending", "ShuttingDown", "SystemUpdating", "DeepHealthCheckInProgress", "differs")
"""Statuses of HyperPod, which are valid even if no node has them."""


def _words(row: NodeRow) -> Iterable[str]:
    if row.node:
        yield row.node.status
    if row.slurm:
        yield row.slurm.word
        yield row.slurm.state
    if row.differs:
        yield "differs"


_COLUMNS = (
    Column(key="label", title="NODE"),
    Column(key="name", title="NAME"),
    Column(key="id", title="INSTANCE"),
    Column(key="type", title="TYPE"),
    Column(key="status", title="AWS"),
    Column(key="slurm", title="SLURM"),
    Column(key="jobs", title="JOBS"),
    Column(key="said", title="MESSAGE", wraps=True),
)
_LESS = ("name", "id", "type")
_BLOCKS, _WIDE = 60, 120
"""Widths of a terminal: below the first, each node is a block of lines; from the second on, all columns are shown."""
_JOBS = 2
"""Jobs that are listed; others are counted."""
_GOOD = frozenset({"Running", "running", "RUNNING", "ACTIVE"})
_BAD = frozenset({"Failure", "NotFound", "stopped", "STOPPED", "terminated"})


def nodes_table(rows: Sequence[NodeRow], screen: Screen) -> Table:
    """Return the table, with the most important columns on a narrow terminal."""
    medium = screen.width is not None and _BLOCKS <= screen.width < _WIDE
    columns = [one for one in _COLUMNS if one.key not in _LESS] if medium else _COLUMNS
    return Table(columns=columns, rows=[_row(row) for row in rows])


def summary(listing: Listing, rows: Sequence[NodeRow]) -> list[str]:
    """Return the summary: nodes by status, Slurm nodes by state, groups with missing nodes, and differences."""
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
    said = f"{listing.name}: {counted(len(nodes), 'node')}"
    statuses = Counter(node.status for node in nodes)
    yield f"{said}: {_counted(statuses)}" if nodes else said
    states = Counter(row.slurm.state for row in rows if row.slurm)
    if states:
        yield f"Slurm: {_counted(states)}"
    if listing.status not in ("", "InService", "ACTIVE") or listing.message:
        yield f"status in AWS: {': '.join(part for part in (listing.status, listing.message) if part)}"
    if listing.note:
        yield listing.note
    for count in listing.counts:
        if count.current != count.wanted:
            yield f"group {count.group} has {count.current} of {count.wanted} nodes"
    differing = sum(1 for row in rows if row.differs)
    if differing:
        yield f"{differing} {'differs' if differing == 1 else 'differ'} between AWS and Slurm"


def _counted(found: Counter[str]) -> str:
    return ", ".join(f"{number} {word}" for word, number in found.most_common())


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesView:
    """The nodes in AWS and in Slurm."""

    listing: Listing
    rows: Sequence[NodeRow]
    """The requested rows."""
    unseen: Sequence[Problem] = ()
    """Why Slurm is missing."""

    @property
    def exit_code(self) -> ExitCode:
        """1 if a node needs attention, 3 if Slurm could not be queried."""
        if any(row.is_bad for row in self.rows):
            return ExitCode.PROBLEMS
        return ExitCode.NOT_CHECKED if self.unseen else ExitCode.FINE

    def text(self, screen: Screen) -> str:
        """Return the table with the summary below."""
        lines = [painted(plain_text(line), Tone.STRONG, color=screen.color) for line in self._summary()]
        return nodes_table(self.rows, screen).text(screen) + "".join(f"{line}\n" for line in lines)

    def top(self, screen: Screen) -> str:
        """Return the summary, then the table with nodes that need attention first: the end may be cut off."""
        lines = [painted(plain_text(line), Tone.STRONG, color=screen.color) for line in self._summary()]
        rows = sorted(self.rows, key=lambda row: not row.is_bad)
        return "".join(f"{line}\n" for line in lines) + nodes_table(rows, screen).text(screen)

    def as_json(self) -> dict[str, Any]:
        """Return the row or the view for `--json`."""
        return {
            "name": self.listing.name,
            "status": self.listing.status,
            "nodes": [row.as_json() for row in self.rows],
            "summary": list(summary(self.listing, self.rows)),
            "not_checked": self.unseen,
        }

    def _summary(self) -> list[str]:
        unseen = [f"Slurm is not in the table: {one.message}; {_remedy(one)}" for one in self.unseen]
        return summary(self.listing, self.rows) + unseen


def look(listing: Listing, ask: Callable[[Listing], SlurmView] | None) -> NodesView:
    """Return all nodes. `ask` returns Slurm's nodes; `None` to leave Slurm out."""
    view: SlurmView | None = None
    unseen: Sequence[Problem] = ()
    if ask is not None and listing.has_slurm:
        try:
            view = ask(listing)
        except FleetError as error:
            unseen = tuple(error.problems)
    return NodesView(listing=listing, rows=rows_of(listing, view), unseen=unseen)


def _remedy(unseen: Problem) -> str:
    """Return the remedy, and how to leave Slurm out."""
    return unseen.remedy if "--no-slurm" in unseen.remedy else f"{unseen.remedy}, or leave Slurm out with --no-slurm"


_PASSING = (CommandCode.THROTTLED, CommandCode.UNREACHABLE)
"""Temporary refusals."""


def watch(look: Callable[[], NodesView], seconds: float, *, sleep: Callable[[float], None] = time.sleep) -> NoReturn:
    """Print the view of `look` every `seconds`, until Ctrl-C (`KeyboardInterrupt`).

    On a terminal the table is overwritten; elsewhere the tables follow each other, each below its time. Raises the
    errors of `look`, except throttling and an endpoint that does not respond, which are retried.
    """
    if Screen.of_output().live:
        _repaint(look, seconds, sleep)
    for text in _looks(look, lambda monitoring: monitoring.text(Screen.of_output())):
        print(text, flush=True)
        sleep(seconds)
    raise AssertionError("a watch has no end")


def _repaint(look: Callable[[], NodesView], seconds: float, sleep: Callable[[float], None]) -> NoReturn:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=False)
    # The bottom is cut off, so nodes that need attention are at the top.
    with Live(console=console, auto_refresh=False, vertical_overflow="ellipsis") as live:
        for text in _looks(look, lambda monitoring: monitoring.top(Screen.of_output())):
            live.update(Text.from_ansi(text), refresh=True)
            sleep(seconds)
    raise AssertionError("a watch has no end")


def _looks(look: Callable[[], NodesView], shown: Callable[[NodesView], str]) -> Iterator[str]:
    """Yield the text of each query; after a temporary failure, the text before and the failure."""
    last = ""
    while True:
        now = datetime.now().astimezone().strftime("%H:%M:%S")
        try:
            last = f"{now}\n{shown(look())}"
            yield last
        except AwsRefusal as error:
            if error.code not in _PASSING:
                raise
            yield f"{last}{now} not updated: {error.problems[0].message}\n"
