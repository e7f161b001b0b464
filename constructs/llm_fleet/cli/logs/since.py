"""Reads `--since`: a span back from now, or a time."""

import re
from datetime import UTC, datetime, timedelta

from llm_fleet.cli.failure import refuse
from llm_fleet.rules.day_two.logs_codes import LogsCode

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SPAN = re.compile(r"(\d{1,6})\s*(s|m|min|h|d|w)")


def since(text: str | None, *, now: datetime | None = None) -> datetime | None:
    """Return the time that `text` means, as UTC: `90s`, `30m`, `2h`, `3d`, `1w`, or ISO 8601 (no zone: UTC).

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
            "this is neither a span nor a time",
            "write a span as in 30m, 2h or 3d, or a time as in 2026-11-22T03:00:00Z",
            subject="--since",
            value=text,
        )
