"""One attempt at a step, in the child process: its work, and the result that it returns to the runner."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn, Optional

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.file_system_errors import file_system_failure
from llm_fleet_node.node import Node
from llm_fleet_node.step import Step

APPLY, REPAIR, VERIFY = "apply", "repair", "verify"
"""`apply`, then verify; `repair`: verify, and apply if that fails; `verify` only."""

_PR_SET_PDEATHSIG = 1
"""From linux/prctl.h."""


def main(step: Step, node: Node, how: str, *, result: int, output: int, runner: int) -> NoReturn:
    """Attempt `step` in the mode `how`, write the outcome to the file `result`, and exit.

    Its output and that of its children go to the file `output`. The kernel kills it when the process `runner` ends.
    """
    try:
        _detach(output, runner)
        reported = attempt(step, replace(node, say=_say), how)
        with open(result, "w", encoding="utf-8") as file:
            json.dump(reported, file)
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def attempt(step: Step, node: Node, how: str) -> dict[str, Any]:
    """Attempt `step`; return its changes, its failure or `None`, and the seconds of each part."""
    node.host.changes.clear()
    seconds: dict[str, float] = {}
    repaired = False
    failure = _timed(seconds, "verify", step.verify, node) if how != APPLY else None
    if how == APPLY or (how == REPAIR and failure):
        repaired = failure is not None
        if failure:
            print(f"must be applied again: {failure.cause}", flush=True)
        failure = _timed(seconds, "apply", step.apply, node) or _timed(seconds, "verify", step.verify, node)
    return {
        "changes": node.host.changes,
        "failure": None if failure is None else [failure.code.name, failure.cause, failure.final],
        "repaired": repaired,
        "seconds": seconds,
    }


def _timed(seconds: dict[str, float], name: str, run: Callable[[Node], None], node: Node) -> Optional[Failure]:
    """Run one part and return its failure or `None`; add its duration to `seconds`."""
    started = time.monotonic()
    try:
        run(node)
    except Exception as error:
        return _as_failure(error)
    finally:
        seconds[name] = round(seconds.get(name, 0.0) + time.monotonic() - started, 4)
    return None


def _as_failure(error: Exception) -> Failure:
    known = file_system_failure(error)
    if known is not None:
        return known
    if isinstance(error, Failure):
        return error
    traceback.print_exception(type(error), error, error.__traceback__)
    return Failure(Code.UNEXPECTED_ERROR, f"{type(error).__name__}: {error}")


def _detach(output: int, runner: int) -> None:
    """Start a process group that ends with the runner, and redirect output to `output`."""
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, _end_with_all)
    # Otherwise the steps of a killed runner would still change the node while the next run starts.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGHUP)
    if os.getppid() != runner:
        os._exit(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    # New streams: the runner's may be files, this is a pipe.
    sys.stdout = sys.stderr = open(1, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def _say(text: str) -> None:
    print(text, flush=True)


def _end_with_all(*_: object) -> None:
    os.killpg(0, signal.SIGKILL)
