"""Leaves a report and a log that outlive the node's last second."""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from llm_fleet_node.failures import Code, Failure

REPORT = "report.json"
LOG = "llm-fleet.log"


class Log:
    """Lines for people, on standard output (which the platform ships) and in a file, each on disk at once."""

    def __init__(self, log_dir: Path) -> None:
        """Open the log in `log_dir`. Raises `Failure` when that cannot be done."""
        try:
            log_dir.mkdir(parents=True, exist_ok=True)
            self._file = open(log_dir / LOG, "a", encoding="utf-8")  # noqa: SIM115 - open until the process ends
        except OSError as error:
            raise Failure(Code.REPORT, f"{log_dir} takes no log: {error.strerror}") from error

    def line(self, text: str, *, error: bool = False) -> None:
        """Write `text`, which may have several lines; an `error` goes to standard error."""
        print(text, file=sys.stderr if error else sys.stdout, flush=True)
        self._file.write(f"{now()} {text}\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def write_report(log_dir: Path, report: dict[str, Any]) -> None:
    """Put `report` into `log_dir` whole or not at all. Raises `Failure` when the disk does not take it."""
    target = log_dir / REPORT
    draft = log_dir / f"{REPORT}.new"
    try:
        with open(draft, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
        folder = os.open(log_dir, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise Failure(Code.REPORT, f"{target} cannot be written: {error.strerror}") from error


def now() -> str:
    """Return the time as `2026-11-20T08:00:00Z`."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def python_version() -> str:
    """Return e.g. `3.10.12`."""
    return ".".join(map(str, sys.version_info[:3]))
