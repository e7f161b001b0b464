"""The summary of a run: a line for each step, then failures with remedies."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from llm_fleet_node.outcome import DONE, FAILED, NOT_REACHED, Outcome

_MARKS = {DONE: "ok", FAILED: "FAILED", NOT_REACHED: "-"}


def lines(outcomes: Iterable[Outcome], slowest: list[str]) -> list[str]:
    """Return a line for each step, in the order of their start."""
    in_order = sorted(outcomes, key=lambda outcome: (outcome.started is None, outcome.started or 0.0))
    width = max((len(outcome.step.name) for outcome in in_order), default=0)
    reported = [_line(outcome, width) for outcome in in_order]
    return [*reported, f"slowest path: {' > '.join(slowest)}"] if slowest else reported


def failures(outcomes: Iterable[Outcome], log: Path) -> list[str]:
    """Return the failures with their remedies."""
    reported: list[str] = []
    for outcome in outcomes:
        if outcome.failure:
            reported.append(f"{outcome.failure.code.code}  {outcome.step.name}: {outcome.failure.cause}")
            reported.append(f"  remedy: {outcome.failure.code.remedy}")
    return [*reported, f"  log: {log}"] if reported else []


def _line(outcome: Outcome, width: int) -> str:
    mark = _MARKS.get(outcome.state, outcome.state)
    seconds = "" if outcome.started is None or outcome.ended is None else f"{outcome.ended - outcome.started:.2f}"
    return f"{mark:>6}  {outcome.step.name:<{width}}  {seconds:>7}  {_what(outcome)}".rstrip()


def _what(outcome: Outcome) -> str:
    if outcome.failure:
        return (
            f"{outcome.failure.code.code} after {outcome.attempts} attempts"
            if outcome.attempts > 1
            else (outcome.failure.code.code)
        )
    if outcome.state == NOT_REACHED:
        return outcome.why
    if outcome.verified_only:
        return "only verified"
    changes = f"{len(outcome.changes)} changes" if outcome.changes else "nothing to change"
    attempts = f", {outcome.attempts} attempts" if outcome.attempts > 1 else ""
    return f"{'repaired: ' if outcome.repaired else ''}{changes}{attempts}"
