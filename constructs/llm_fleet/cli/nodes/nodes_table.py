"""The table of nodes: its rows, which of them are shown, how it is drawn and drawn again."""

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

    def reported(self) -> dict[str, Any]:
        """Return it for `--json`."""
        found: dict[str, Any] = self.node.reported() if self.node else {}
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
        missed = node.running and node.role is NodeRole.COMPUTE
        return f"AWS says {node.status}, Slurm does not know it" if missed else ""
    if node.running and slurm.is_lost:
        return f"AWS says {node.status}, Slurm says {slurm.state}"
    if node.running and slurm.is_off:
        return f"AWS runs it, and Slurm has powered it down ({slurm.state})"
    if not node.running and slurm.works:
        return f"AWS says {node.status}, and Slurm gives it work ({slurm.state})"
    if node.role in _NO_WORK and slurm.jobs:
        return f"a job runs on a {node.role} node"
    return ""


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
    said = f"{listing.name}: {counted(len(nodes), 'node')}"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesView:
    """The nodes as AWS and Slurm see them."""

    listing: Listing
    rows: Sequence[NodeRow]
    """Those that were asked for."""
    unseen: Sequence[Problem] = ()
    """Why Slurm's view is not in it."""

    @property
    def exit_code(self) -> ExitCode:
        """1 when somebody should look at a node, 3 when Slurm should have been asked and could not be."""
        if any(row.is_bad for row in self.rows):
            return ExitCode.PROBLEMS
        return ExitCode.NOT_CHECKED if self.unseen else ExitCode.FINE

    def text(self, screen: Screen) -> str:
        """Return the table with the summary below."""
        lines = [painted(plain_text(line), Tone.STRONG, colour=screen.colour) for line in self._summary()]
        return nodes_table(self.rows, screen).text(screen) + "".join(f"{line}\n" for line in lines)

    def top(self, screen: Screen) -> str:
        """Return the summary, then the table with those first that somebody should look at: the end may be cut."""
        lines = [painted(plain_text(line), Tone.STRONG, colour=screen.colour) for line in self._summary()]
        rows = sorted(self.rows, key=lambda row: not row.is_bad)
        return "".join(f"{line}\n" for line in lines) + nodes_table(rows, screen).text(screen)

    def reported(self) -> dict[str, Any]:
        """Return it for `--json`."""
        return {
            "name": self.listing.name,
            "status": self.listing.status,
            "nodes": [row.reported() for row in self.rows],
            "summary": list(summary(self.listing, self.rows)),
            "not_checked": self.unseen,
        }

    def _summary(self) -> list[str]:
        unseen = [f"Slurm is not in the table: {one.message}; {_remedy(one)}" for one in self.unseen]
        return summary(self.listing, self.rows) + unseen


def look(listing: Listing, ask: Callable[[Listing], SlurmView] | None) -> NodesView:
    """Return all nodes, with Slurm's view of them where `ask` gets it; `None`: it is not wanted."""
    view: SlurmView | None = None
    unseen: Sequence[Problem] = ()
    if ask is not None and listing.has_slurm:
        try:
            view = ask(listing)
        except FleetError as error:
            unseen = tuple(error.problems)
    return NodesView(listing=listing, rows=rows_of(listing, view), unseen=unseen)


def _remedy(unseen: Problem) -> str:
    """Return what to do, or how to do without."""
    return unseen.remedy if "--no-slurm" in unseen.remedy else f"{unseen.remedy}; --no-slurm leaves Slurm out"


_PASSING = (CommandCode.THROTTLED, CommandCode.UNREACHABLE)
"""What may be over at the next look."""


def watch(look: Callable[[], NodesView], seconds: float, *, sleep: Callable[[float], None] = time.sleep) -> NoReturn:
    """Show what `look` finds, every so many `seconds`, until Ctrl-C (`KeyboardInterrupt`).

    On a terminal the table is written over; anywhere else each follows the one before, below its time. Raises what
    `look` raises, but for throttling and an endpoint that does not answer: the next look may have better luck.
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
    # What does not fit is cut at the bottom: the nodes that somebody should look at stand at the top.
    with Live(console=console, auto_refresh=False, vertical_overflow="ellipsis") as live:
        for text in _looks(look, lambda monitoring: monitoring.top(Screen.of_output())):
            live.update(Text.from_ansi(text), refresh=True)
            sleep(seconds)
    raise AssertionError("a watch has no end")


def _looks(look: Callable[[], NodesView], shown: Callable[[NodesView], str]) -> Iterator[str]:
    """Yield the text of each look; of one that failed in passing, the one before and why."""
    last = ""
    while True:
        now = datetime.now().astimezone().strftime("%H:%M:%S")
        try:
            last = f"{now}\n{shown(look())}"
            yield last
        except AwsRefusal as error:
            if error.code not in _PASSING:
                raise
            yield f"{last}{now} AWS was not asked: {error.problems[0].message}\n"
