"""The report of a start, `report.json`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from llm_fleet_node.failures import Code, Failure

NAME = "report.json"
VERSION = 1


def write_report(folder: Path, report: dict[str, Any]) -> None:
    """Write `report` to `folder` atomically. Raises `Failure` if it cannot be written."""
    target = folder / NAME
    draft = folder / f"{NAME}.new"
    try:
        with open(draft, "w", encoding="utf-8") as file:
            # One write: json.dump would write many small pieces, which is slow.
            file.write(json.dumps(report, indent=2) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise Failure(Code.REPORT, f"{target} cannot be written: {error.strerror}") from error


def python_version() -> str:
    """Return e.g. `3.10.12`."""
    return ".".join(map(str, sys.version_info[:3]))
