"""Shows events: a table, and below it what to do about what went wrong."""

from collections.abc import Sequence
from datetime import UTC

from llm_fleet.cli.events.event import Event, Level
from llm_fleet.cli.terminal.table import Cell, Column, Table
from llm_fleet.cli.terminal.tone import Tone, Toned

_COLUMNS = (
    Column(key="time", title="TIME (UTC)"),
    Column(key="level", title="LEVEL"),
    Column(key="source", title="BY"),
    Column(key="about", title="ABOUT"),
    Column(key="said", title="WHAT", wraps=True),
)
_TONES = {Level.INFO: Tone.PLAIN, Level.WARN: Tone.WARNING, Level.ERROR: Tone.BAD}


def events_table(events: Sequence[Event]) -> Table:
    """Return a row an event, the oldest first."""
    return Table(columns=_COLUMNS, rows=[_row(event) for event in events])


def remedies(events: Sequence[Event], more: str | None = None) -> list[str]:
    """Return what to do about what went wrong, each remedy once; `more` is a failure told elsewhere."""
    from llm_fleet.catalog.nodes import remedy_for

    found = [remedy_for(more) if more else None, *(event.remedy for event in events)]
    return [remedy for remedy in dict.fromkeys(found) if remedy]


def one_line(event: Event) -> str:
    """Return an event as one line, for what is followed."""
    about = f"  {event.about}" if event.about else ""
    return f"{event.time.astimezone(UTC):%H:%M:%S}  {event.level.value:5}  {event.source}{about}  {event.said}"


def _row(event: Event) -> dict[str, Cell]:
    about = event.about
    if event.group and event.group != about:
        about = f"{about} ({event.group})"
    return {
        "time": event.time.astimezone(UTC).strftime("%m-%d %H:%M:%S"),
        "level": Toned(event.level.value, _TONES[event.level]),
        "source": event.source,
        "about": about or None,
        "said": event.said,
    }


def outcome_words(state: str | None, failure: str | None) -> str | None:
    """Return how the cluster is, in one line; `None` where nobody said."""
    if state is None:
        return None
    return f"it is {state}: {failure}" if failure else f"it is {state}"
