"""Shows what the starts of nodes came to: a table, and below it what to do."""

from collections.abc import Sequence
from datetime import UTC, datetime

from llm_fleet.cli.logs.node_run import NodeRun
from llm_fleet.cli.terminal.counted import counted
from llm_fleet.cli.terminal.screen import Screen
from llm_fleet.cli.terminal.table import Cell, Column, Table
from llm_fleet.cli.terminal.tone import Tone, Toned, painted

_COLUMNS = (
    Column(key="node", title="NODE"),
    Column(key="group", title="GROUP"),
    Column(key="outcome", title="START"),
    Column(key="step", title="STEP"),
    Column(key="code", title="CODE"),
    Column(key="seconds", title="SECONDS", right=True),
    Column(key="started", title="AT (UTC)"),
    Column(key="cause", title="CAUSE", wraps=True),
)
_STEP_COLUMNS = (
    Column(key="step", title="STEP"),
    Column(key="state", title="STATE"),
    Column(key="seconds", title="SECONDS", right=True),
    Column(key="code", title="CODE"),
    Column(key="cause", title="CAUSE", wraps=True),
)
_TONES = {"ok": Tone.GOOD, "FAILED": Tone.BAD, "done": Tone.GOOD, "failed": Tone.BAD}


def runs_table(runs: Sequence[NodeRun]) -> Table:
    """Return a row a node."""
    return Table(columns=_COLUMNS, rows=[_row(run) for run in runs])


def steps_table(run: NodeRun) -> Table:
    """Return a row a step of one run."""
    rows: list[dict[str, Cell]] = [
        {
            "step": step.name,
            "state": Toned(step.state, _TONES.get(step.state, Tone.PLAIN)),
            "seconds": _seconds(step.seconds),
            "code": step.code,
            "cause": step.cause,
        }
        for step in run.steps
    ]
    return Table(columns=_STEP_COLUMNS, rows=rows)


def remedies(runs: Sequence[NodeRun], screen: Screen) -> str:
    """Return each code that occurs once, with how many nodes have it, its remedy and where to read on."""
    told: list[str] = []
    for code in dict.fromkeys(run.code for run in runs if run.failed):
        having = [run for run in runs if run.code == code]
        remedy = next((run.remedy for run in having if run.remedy), None)
        count = counted(len(having), "node")
        told.append(f"{painted(str(code), Tone.BAD, colour=screen.colour)} on {count}")
        told += [f"  remedy: {remedy}"] if remedy else []
        told.append(f"  more: docs/node-failures/{code}.md")
    return "".join(f"{line}\n" for line in told)


def summary(runs: Sequence[NodeRun]) -> str:
    """Return one line that counts."""
    counts: dict[str, int] = {}
    for run in runs:
        counts[run.words] = counts.get(run.words, 0) + 1
    return f"{counted(len(runs), 'node')}: " + ", ".join(f"{number} {words}" for words, number in counts.items())


def _row(run: NodeRun) -> dict[str, Cell]:
    outcome = run.words + ("" if run.lives else ", gone")
    if run.failed_before:
        outcome += f", try {run.failed_before + 1}"
    return {
        "node": run.node,
        "group": run.group,
        "outcome": Toned(outcome, _TONES.get(run.words, Tone.WARNING)),
        "step": run.step,
        "code": None if run.code == "OK" else run.code,
        "seconds": _seconds(run.seconds),
        "started": _time(run.started),
        "cause": run.cause,
    }


def _seconds(seconds: float | None) -> str | None:
    return None if seconds is None else f"{seconds:.1f}"


def _time(time: datetime | None) -> str | None:
    return None if time is None else time.astimezone(UTC).strftime("%m-%d %H:%M")
