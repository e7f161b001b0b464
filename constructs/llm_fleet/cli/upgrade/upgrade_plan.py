"""What an upgrade would do, and how it is shown."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from llm_fleet.cli.terminal.screen import Screen, Tone, Toned, painted, plain_text
from llm_fleet.cli.terminal.table import Cell, Column, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupUpgrade:
    """One group of nodes."""

    name: str
    role: str | None = None
    instance_type: str = ""
    nodes: int = 0
    current: str
    """Release or id of the image that it runs; `unknown` where HyperPod does not tell."""
    wanted: str
    """What it would run."""
    status: str | None = None
    """`UpToDate`, `UpdateAvailable`, `SecurityUpdateRequired`, `EndOfLife`."""
    hook: str | None = None
    """When its nodes run scripts; `None` for never."""
    script: str | None = None
    """The script that runs."""
    steps: tuple[str, ...] = ()
    """What of our steps would run again, at most: a node leaves out what it does not need."""
    rolling: dict[str, Any] | None = None
    """How the update rolls over it, as the API has it; `None`: all at once."""


@dataclass(slots=True, kw_only=True)
class UpgradePlan:
    """All of it."""

    about: str
    groups: list[GroupUpgrade] = field(default_factory=list[GroupUpgrade])
    lost: list[str] = field(default_factory=list[str])
    kept: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])
    before: list[str] = field(default_factory=list[str])
    """Commands to run before."""
    commands: list[str] = field(default_factory=list[str])
    """The update, in the order in which to run it; nobody ran them."""
    after: list[str] = field(default_factory=list[str])
    not_asked: str | None = None
    """Why Slurm was not asked, though it should have been."""
    jobs: list[str] | None = None
    """What runs now, as Slurm tells it; `None` where nobody asked."""


_COLUMNS = (
    Column(key="name", title="GROUP"),
    Column(key="role", title="ROLE"),
    Column(key="nodes", title="NODES", right=True),
    Column(key="current", title="IMAGE"),
    Column(key="status", title="STATUS"),
    Column(key="wanted", title="WOULD BE"),
    Column(key="order", title="HOW"),
    Column(key="steps", title="STEPS AGAIN", wraps=True),
)
_TONES = {"UpToDate": Tone.GOOD, "SecurityUpdateRequired": Tone.BAD, "EndOfLife": Tone.BAD}


def show_plan(plan: UpgradePlan, screen: Screen) -> None:
    """Print the plan."""
    print(f"{plan.about}: what an update would do; nothing has been changed\n")
    print(Table(columns=_COLUMNS, rows=[_row(group) for group in plan.groups]).text(screen), end="")
    _part("lost", plan.lost, screen, Tone.BAD)
    _part("kept", plan.kept, screen, Tone.GOOD)
    _part("mind", plan.warnings, screen, Tone.WARNING)
    if plan.jobs is not None:
        _part("jobs now", plan.jobs or ["none"], screen, Tone.WARNING)
    _part("before", plan.before, screen, Tone.STRONG)
    _part("the update", plan.commands, screen, Tone.STRONG)
    _part("after", plan.after, screen, Tone.STRONG)


def _part(title: str, lines: Iterable[str], screen: Screen, tone: Tone) -> None:
    told = list(lines)
    if told:
        print(f"\n{painted(title, tone, colour=screen.colour)}")
        print("".join(f"  {plain_text(line)}\n" for line in told), end="")


def _row(group: GroupUpgrade) -> dict[str, Cell]:
    return {
        "name": group.name,
        "role": group.role,
        "nodes": group.nodes or None,
        "current": group.current,
        "status": Toned(group.status, _TONES.get(group.status, Tone.WARNING)) if group.status else None,
        "wanted": group.wanted,
        "order": _how(group),
        "steps": ", ".join(group.steps) or group.script,
    }


def _how(group: GroupUpgrade) -> str | None:
    if group.rolling is None:
        return "all at once" if group.nodes > 1 else None
    size = group.rolling.get("RollingUpdatePolicy", {}).get("MaximumBatchSize", {})
    unit = "%" if size.get("Type") == "CAPACITY_PERCENTAGE" else " nodes"
    return f"{size.get('Value', '?')}{unit} at a time"
