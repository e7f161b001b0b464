"""Offers the right name for a misspelt one."""

from collections.abc import Iterable
from difflib import get_close_matches

_LIKENESS = 0.6
"""difflib's own default: below it an offer misleads more often than it helps."""


def nearest(value: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate most like `value`, whatever the case of either, or `None` when none is like it.

    Of equally like candidates the first in sorted order wins, so that a message is always the same.
    """
    by_folded = {candidate.casefold(): candidate for candidate in sorted(candidates, reverse=True)}
    matches = get_close_matches(value.strip().casefold(), sorted(by_folded), n=1, cutoff=_LIKENESS)
    return by_folded[matches[0]] if matches else None


def did_you_mean(value: str, candidates: Iterable[str], *, otherwise: str) -> str:
    """Return the remedy that offers the nearest of `candidates`, or `otherwise` when none is near."""
    offer = nearest(value, candidates)
    return f"write {offer!r}" if offer else otherwise
