"""Whose fault a job's end is: a table, not code."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

SERVICE, CAPACITY, USER, RUNTIME, PERSON, COMPLETED, UNKNOWN = (
    "service",
    "capacity",
    "user",
    "runtime",
    "person",
    "completed",
    "unknown",
)


def cause_of(*, status: str, secondary: str, failure: str) -> str:
    """Return why a job ended: one of the words above, by DescribeTrainingJob's three."""
    if status == "Completed":
        return COMPLETED
    texts = {"secondary": secondary, "failure": failure}
    for row in _rows():
        if re.search(row["pattern"], texts[row["of"]]):
            return row["cause"]
    return PERSON if status == "Stopped" and secondary == "Stopped" else UNKNOWN


@cache
def _rows() -> list[dict[str, Any]]:
    return json.loads(Path(__file__).with_name("failures.json").read_text(encoding="utf-8"))["rows"]
