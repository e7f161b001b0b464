"""Reads, follows and prints streams of CloudWatch Logs."""

import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from llm_fleet.cli.clients import AwsGone, AwsRefusal, aws_errors_reported
from llm_fleet.cli.screen import plain_line, progress
from llm_fleet.cli.verb import refuse
from llm_fleet.rules.feature_codes import LogsCode
from llm_fleet.rules.problem import Problem

if TYPE_CHECKING:
    from mypy_boto3_logs import CloudWatchLogsClient


@dataclass(frozen=True, slots=True)
class LogLine:
    """One event of a log stream."""

    time: datetime
    stream: str
    text: str


_NAMES_A_CALL = 100
"""Largest number of stream names for FilterLogEvents."""


def newest_group(client: "CloudWatchLogsClient", prefix: str, form: re.Pattern[str]) -> str | None:
    """Return the newest log group with this `prefix` whose name matches `form`."""
    with aws_errors_reported(f"log groups {prefix}*"):
        pages = client.get_paginator("describe_log_groups").paginate(logGroupNamePrefix=prefix)
        found = [group for page in pages for group in page["logGroups"]]
    fitting = [group for group in found if form.fullmatch(group.get("logGroupName", ""))]
    newest = max(fitting, key=lambda one: (one.get("creationTime", 0), one.get("logGroupName", "")), default=None)
    return None if newest is None else newest.get("logGroupName")


def stream_names(client: "CloudWatchLogsClient", group: str, prefix: str = "") -> list[str] | None:
    """Return the names of the group's streams; `None` if the group does not exist."""
    request: dict[str, Any] = {"logGroupName": group} | ({"logStreamNamePrefix": prefix} if prefix else {})
    names: list[str] = []
    with suppress(AwsGone), aws_errors_reported(f"log group {group}"), progress("log streams") as step:
        for page in client.get_paginator("describe_log_streams").paginate(**request):
            names += [stream.get("logStreamName", "") for stream in page["logStreams"]]
            step()
        return names


def filtered_lines(
    client: "CloudWatchLogsClient",
    group: str,
    *,
    prefix: str = "",
    names: Sequence[str] = (),
    terms: Sequence[str] = (),
    since: datetime | None = None,
) -> Iterator[tuple[str, LogLine]]:
    """Yield lines that contain one of the `terms` with their event ids, of streams by `prefix` or `names`."""
    if len(names) > _NAMES_A_CALL:
        for begin in range(0, len(names), _NAMES_A_CALL):
            yield from filtered_lines(
                client, group, names=names[begin : begin + _NAMES_A_CALL], terms=terms, since=since
            )
        return
    request: dict[str, Any] = {"logGroupName": group}
    if names:
        request["logStreamNames"] = list(names)
    elif prefix:
        request["logStreamNamePrefix"] = prefix
    if terms:
        request["filterPattern"] = " ".join(f'?"{term}"' for term in terms)
    if since:
        request["startTime"] = _milliseconds(since)
    with aws_errors_reported(f"log group {group}"), progress("log lines") as step:
        for page in client.get_paginator("filter_log_events").paginate(**request):
            step()
            for event in page["events"]:
                yield event.get("eventId", ""), _line(cast("dict[str, Any]", event), event.get("logStreamName", ""))


def stream_lines(
    client: "CloudWatchLogsClient", group: str, stream: str, *, since: datetime | None = None
) -> Iterator[LogLine]:
    """Yield every line of one stream, the oldest first."""
    request: dict[str, Any] = {"logGroupName": group, "logStreamName": stream, "startFromHead": True}
    if since:
        request["startTime"] = _milliseconds(since)
    with aws_errors_reported(f"log stream {stream}"):
        while True:
            answer = client.get_log_events(**request)
            for event in answer["events"]:
                yield _line(cast("dict[str, Any]", event), stream)
            if answer["nextForwardToken"] == request.get("nextToken"):
                return
            request["nextToken"] = answer["nextForwardToken"]


def _line(event: dict[str, Any], stream: str) -> LogLine:
    time = datetime.fromtimestamp(event["timestamp"] / 1000, UTC)
    return LogLine(time, stream, str(event["message"]).rstrip("\n"))


def _milliseconds(time: datetime) -> int:
    return int(time.timestamp() * 1000)


Answer = TypeVar("Answer")


def ask(problems: list[Problem], question: Callable[[], Answer], otherwise: Answer) -> Answer:
    """Return the result; if AWS refuses a call, add the problem to `problems` and return `otherwise`."""
    try:
        return question()
    except AwsRefusal as refused:
        problems += [one for one in refused.problems if one not in problems]
        return otherwise


_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SPAN = re.compile(r"(\d{1,6})\s*(s|m|min|h|d|w)")


def since(text: str | None, *, now: datetime | None = None) -> datetime | None:
    """Return the time of `text` in UTC: `90s`, `30m`, `2h`, `3d`, `1w`, or ISO 8601 (no zone: UTC).

    Raises `FleetError` (LF1120).
    """
    if text is None:
        return None
    span = _SPAN.fullmatch(text.strip())
    now = now or datetime.now(UTC)
    try:
        if span:
            return now - timedelta(seconds=int(span[1]) * _UNITS[span[2]])
        time = datetime.fromisoformat(text.strip())
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        refuse(
            LogsCode.SINCE,
            "this is neither a time span nor a time",
            "write a time span such as `30m`, `2h` or `3d`, or a time such as `2026-11-22T03:00:00Z`",
            subject="--since",
            value=text,
        )


PAUSE = 3.0
"""Seconds between two queries: FilterLogEvents allows few calls per second and account."""
_OVERLAP = timedelta(seconds=60)
"""Lines can arrive late: each query begins this long before the newest line."""


def print_line(line: LogLine, *, node: str, as_json: bool) -> None:
    """Print one line; with `as_json`, as a JSON document on one line."""
    if as_json:
        reported = {"time": line.time.isoformat(), "node": node, "stream": line.stream, "text": line.text}
        print(json.dumps(reported), flush=True)
    else:
        print(f"{line.time.astimezone(UTC):%H:%M:%S}  {plain_line(node)}  {plain_line(line.text)}", flush=True)


def follow(
    look: Callable[[datetime | None], Iterable[tuple[str, LogLine]] | None],
    show: Callable[[LogLine], None],
    *,
    since: datetime | None,
    pause: float = PAUSE,
) -> NoReturn:
    """Print the lines of `look`, each once, until Ctrl-C.

    If there is no log yet (`None`, or no such log group), it prints a note once and waits.
    """
    shown: set[str] = set()
    newest, waits = since, False
    while True:
        found = _found(look, newest - _OVERLAP if newest and newest != since else newest)
        if found is None and not waits:
            print("the log does not exist yet: waiting for the first node; press Ctrl-C to stop", file=sys.stderr)
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
    with suppress(AwsGone):
        lines = look(since)
        return None if lines is None else sorted(lines, key=lambda found: found[1].time)
