"""Reads a configuration of ParallelCluster, in YAML or JSON, and knows one when it sees it."""

import json
import re
from pathlib import Path
from typing import Any, cast

from llm_fleet.cli.importing.notes import Notes
from llm_fleet.config.parallelcluster.raw import is_parallelcluster
from llm_fleet.config.parse import parse
from llm_fleet.config.read import read_text
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError

_NOUN = "configuration"
_LOOKS_LIKE_ONE = re.compile(r"^(HeadNode|Scheduling|SharedStorage|LoginNodes)[ \t]*:", re.M)


def read_parallelcluster(path: Path, notes: Notes) -> dict[str, Any] | None:
    """Return the configuration in the file at `path`; `None` when it is none, but a request of HyperPod's perhaps.

    Raises `FleetError` (LF101 to LF103; LF104 to LF109 for YAML that cannot be read, and is no JSON either).
    """
    text = read_text(path, noun="request")
    given = _json(text)
    if given is not None:
        return cast("dict[str, Any]", given) if is_parallelcluster(given) else None
    if not _LOOKS_LIKE_ONE.search(text):  # The reader of requests tells best what is wrong with it.
        return None
    document = parse(text, subject=str(path), noun=_NOUN)
    if not is_parallelcluster(document.data):
        return None
    for problem in document.problems:
        if problem.code is not Code.EMPTY_VALUE:
            raise FleetError([document.locate(problem)], subject=str(path))
        notes.left_out(f"{problem.where}: it has no value")
    return document.data


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
