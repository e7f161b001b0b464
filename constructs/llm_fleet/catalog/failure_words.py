"""What services say when something fails to come up, and what to look at then."""

import re
from dataclasses import dataclass
from functools import cache

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureWords:
    """One way in which a service says it."""

    pattern: re.Pattern[str]
    remedy: str


@cache
def _rows() -> tuple[FailureWords, ...]:
    return tuple(
        FailureWords(pattern=re.compile(row["pattern"]), remedy=row["remedy"]) for row in load("failure_words")
    )


def remedy_for(text: str) -> str | None:
    """Return what to do about a failure that a service tells in `text`; `None` where nothing is known about it."""
    return next((row.remedy for row in _rows() if row.pattern.search(text)), None)
