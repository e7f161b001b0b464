"""Shows an upgrade plan on the terminal."""

from collections.abc import Iterable

from llm_fleet.cli.terminal.plain_text import plain_text
from llm_fleet.cli.terminal.screen import Screen
from llm_fleet.cli.terminal.table import Cell, Column, Table
from llm_fleet.cli.terminal.tone import Tone, Toned, painted
from llm_fleet.cli.upgrade.upgrade_plan import GroupUpgrade, UpgradePlan

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
