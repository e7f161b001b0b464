"""The report of a start: what `report.json` holds, and how it gets onto the disk."""

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
    """Put `report` into `folder` whole or not at all. Raises `Failure` when the disk does not take it."""
    target = folder / NAME
    draft = folder / f"{NAME}.new"
    try:
        with open(draft, "w", encoding="utf-8") as file:
            # A whole text at once: json.dump would write its pieces one by one, which is slow.
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
