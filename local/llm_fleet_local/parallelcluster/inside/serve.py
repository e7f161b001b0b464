"""Answers one request per line: `{"call": …, "arguments": {…}}` in, `{"answer": …}` or `{"failed": …}` out.

Usage: python -m llm_fleet_local.parallelcluster.inside.serve, with the repository's folder on the path.
"""

import llm_fleet_local.parallelcluster.inside.closed_network  # noqa: F401  # isort: skip

import json
import os
import sys
import traceback
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, TextIO

from llm_fleet_local.parallelcluster.inside.schema import check_schema
from llm_fleet_local.parallelcluster.inside.update import plan_update


def _about() -> dict[str, str]:
    return {"version": version("aws-parallelcluster")}


def _validate(**arguments: Any) -> Any:
    # Its imports take a second, so they are here.
    from llm_fleet_local.parallelcluster.inside.validation import validate

    return validate(**arguments)


def _execute(**arguments: Any) -> Any:
    from llm_fleet_local.parallelcluster.inside.validation import execute

    return execute(**arguments)


CALLS: dict[str, Callable[..., Any]] = {
    "about": _about,
    "schema": check_schema,
    "update": plan_update,
    "validate": _validate,
    "execute": _execute,
}


def answer(line: str) -> dict[str, Any]:
    """Return the answer to one request; a failure is also an answer, so the process continues."""
    try:
        request = json.loads(line)
        return {"answer": CALLS[request["call"]](**request["arguments"])}
    except Exception:
        return {"failed": traceback.format_exc()}


def serve(requests: TextIO, answers: TextIO) -> None:
    """Answer until the input ends."""
    for line in requests:
        answers.write(json.dumps(answer(line), default=str) + "\n")
        answers.flush()


if __name__ == "__main__":
    # Output of libraries must not be between the answers.
    own_output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, own_output)
