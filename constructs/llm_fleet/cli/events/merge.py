"""Merges what is told twice."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from llm_fleet.cli.events.event import Event

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
