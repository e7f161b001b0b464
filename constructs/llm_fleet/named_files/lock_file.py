"""Reads the lock file of downloads, for fleet file and construct alike."""

import json
from pathlib import Path
from typing import Any

from llm_fleet.named_files.regular_file import read_regular_file
from llm_fleet.rules.codes import Code
from llm_fleet.rules.downloads_lock import check_lock
from llm_fleet.rules.problem import Problem

_SIZE_LIMIT = 8 * 1024 * 1024
"""Bytes; room for twenty thousand files."""


def lock_problems(path: Path) -> list[Problem]:
    """Return what is wrong with the lock file at `path`: that it cannot be read, or what is in it."""
    try:
        document = _read(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return [
            Problem(
                code=Code.DOWNLOADS_LOCK,
                message=f"the lock file of downloads cannot be read: {reason}",
                remedy="give the path of a file that `llm-fleet mirror lock` wrote",
                value=str(path),
            )
        ]
    return check_lock(document)


def locked_files(path: Path) -> list[dict[str, Any]]:
    """Return the files of the lock file at `path`, of which `lock_problems` has found it to be right."""
    return list(_read(path)["files"])


def _read(path: Path) -> Any:
    return json.loads(read_regular_file(path, most=_SIZE_LIMIT))
