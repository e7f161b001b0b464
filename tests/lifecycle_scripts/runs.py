"""Helpers for the reports and processes of runs."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.lifecycle_scripts.throwaway_node import Ended


def by_name(ended: Ended) -> dict[str, dict[str, Any]]:
    """The report of each step."""
    return {reported["name"]: reported for reported in ended.report["steps"]}


def wait_until(look: Callable[[], object], seconds: float = 20) -> None:
    """Wait until `look` returns a value; fail after a timeout."""
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.02)


def is_gone(pid: int) -> bool:
    """Whether the process ends within moments; a zombie counts as ended."""

    def gone() -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except (FileNotFoundError, ProcessLookupError):
            return True

    wait_until(gone, 10)
    return True
