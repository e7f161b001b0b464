"""An event, and how events are merged and shown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from llm_fleet.catalog.nodes import remedy_for
from llm_fleet.cli.terminal.screen import Tone, Toned
from llm_fleet.cli.terminal.table import Cell, Column, Table


class Level(StrEnum):
    """How bad it is."""

    INFO = "Info"
    WARN = "Warn"
    ERROR = "Error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event."""

    time: datetime
    level: Level
    source: str
    """Who tells it: `HyperPod`, `CloudFormation`, `ECS`."""
    about: str
    """A node, a group, a resource of a stack, a task; empty for the whole."""
    what: str
    failure: str | None = None
    """The failure message, where there is one beside `what`."""
    group: str | None = None
    times: int = 1
    """How often it was told: HyperPod tells most things twice."""
    noise: bool = False
    """Whether it only says that nodes go because somebody wants fewer."""
    key: str = ""
    """What tells it from others, where the service has an id."""

    @property
    def said(self) -> str:
        """All that it says."""
        return ": ".join(dict.fromkeys(part.strip() for part in (self.what, self.failure or "") if part.strip()))

    @property
    def remedy(self) -> str | None:
        """What to do, of what went wrong."""
        return None if self.level is Level.INFO else remedy_for(self.said)

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        names = ("time", "level", "source", "about", "group", "what", "failure", "times", "remedy")
        return {name: getattr(self, name) for name in names}


SAME_WITHIN = timedelta(seconds=300)
"""What says the same of the same thing within this is one event, as the watch has it (`training_watch`)."""


def merged(events: Iterable[Event]) -> list[Event]:
    """Return the events in their order in time, each once, with how often it was told."""
    kept: list[Event] = []
    last: dict[tuple[str, ...], int] = {}
    for event in sorted(events, key=lambda event: event.time):
        said = (event.source, event.level, event.about, event.group or "", event.what)
        place = last.get(said)
        if place is not None and event.time - kept[place].time <= SAME_WITHIN and _agree(kept[place], event):
            before = kept[place]
            kept[place] = replace(before, times=before.times + 1, failure=before.failure or event.failure)
            continue
        last[said] = len(kept)
        kept.append(event)
    return kept


def _agree(first: Event, second: Event) -> bool:
    """Whether one does not contradict the other: of a pair one may have the message that the other lacks."""
    return first.failure is None or second.failure is None or first.failure == second.failure


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
