"""Shows lines of logs, as they are or as JSON, and follows them."""

import json
import sys
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import NoReturn

from llm_fleet.cli.aws.refusals import AwsRefusal
from llm_fleet.cli.logs.log_line import LogLine
from llm_fleet.cli.logs.parse_runs import own_text, step_of
from llm_fleet.cli.terminal.plain_text import plain_line
from llm_fleet.rules.day_two.command_codes import CommandCode

PAUSE = 3.0
"""Seconds between two looks: FilterLogEvents allows few calls a second in an account, and others look, too."""
_OVERLAP = timedelta(seconds=60)
"""Lines come late: each look begins so long before the newest line."""


def print_line(line: LogLine, *, node: str, as_json: bool) -> None:
    """Print one line; with `as_json` as one JSON document a line."""
    if as_json:
        told = {"time": line.time.isoformat(), "node": node, "stream": line.stream, "text": line.text}
        print(json.dumps(told), flush=True)
    else:
        print(f"{line.time.astimezone(UTC):%H:%M:%S}  {plain_line(node)}  {plain_line(line.text)}", flush=True)


def has_step(line: LogLine, step: str) -> bool:
    """Return whether a line is about `step`."""
    return step_of(line.text) == step


def has_code(line: LogLine, code: str) -> bool:
    """Return whether a line tells of `code`."""
    return code in (own_text(line.text) or line.text).split()


def follow(
    look: Callable[[datetime | None], Iterable[tuple[str, LogLine]] | None],
    show: Callable[[LogLine], None],
    *,
    since: datetime | None,
    pause: float = PAUSE,
) -> NoReturn:
    """Show what `look` finds, each line once, and what comes after it; ends by Ctrl-C only.

    Where there is nothing to look into yet (`None`, or no such log group), it says so once and waits.
    """
    shown: set[str] = set()
    newest, waits = since, False
    while True:
        found = _found(look, newest - _OVERLAP if newest and newest != since else newest)
        if found is None and not waits:
            print("there is no such log yet: waiting for the first node to write it; Ctrl-C ends this", file=sys.stderr)
        waits = found is None
        for key, line in found or ():
            if key not in shown:
                shown.add(key)
                show(line)
                newest = line.time if newest is None else max(newest, line.time)
        time.sleep(pause)


def _found(
    look: Callable[[datetime | None], Iterable[tuple[str, LogLine]] | None], since: datetime | None
) -> list[tuple[str, LogLine]] | None:
    try:
        lines = look(since)
        return None if lines is None else sorted(lines, key=_when)
    except AwsRefusal as refused:
        if refused.code is not CommandCode.GONE:
            raise
        return None


def _when(found: tuple[str, LogLine]) -> datetime:
    return found[1].time
