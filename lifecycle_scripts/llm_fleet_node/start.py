"""The start of a node: bundle check, identity and steps. Exit code 0 means verified."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn, Optional

from llm_fleet_node import arguments, report
from llm_fleet_node.arguments import Arguments
from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.file_system_errors import file_system_failure
from llm_fleet_node.limits import Limits
from llm_fleet_node.log import Log, leave_screen, stamp
from llm_fleet_node.manifest import Manifest
from llm_fleet_node.places import Places
from llm_fleet_node.prepare import prepare, read_bundle
from llm_fleet_node.step import ON_NODE_CONFIGURED

_OLDEST_START = 60
"""Maximum age in seconds of the start time from the entry point."""

_STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that end a run and are reported; the last one is ignored under nohup(1)."""


def main(given: Sequence[str]) -> int:
    """Run the command line `given`; return the exit code: 0 if verified, otherwise see `_exit_code`."""
    try:
        requested = arguments.parse(given)
        places = Places.of_this_node()
        if requested.mode != arguments.RUN:
            from llm_fleet_node.list_steps import print_steps

            return print_steps(requested, places)
        return Start(requested, places).run()
    except Failure as failed:
        with contextlib.suppress(OSError):
            print(failed, file=sys.stderr, flush=True)
        return _exit_code(failed, given[0] if given else "")
    finally:
        leave_screen()


class Start:
    """A run of a hook, from the entry point to its exit code."""

    def __init__(self, requested: Arguments, places: Places) -> None:
        """Open the log. Raises `Failure` if that is not possible."""
        self._requested = requested
        self._places = places
        self._limits = Limits.of_this_node()
        self._started = _start_time()
        # ParallelCluster does not log a script's standard error (its cookbook's custom_action_executor.py).
        twice = requested.hook == ON_NODE_CONFIGURED
        self._log = Log(places.log_dir, started=self._started, silent=requested.json, errors_twice=twice)
        self._manifest: Optional[Manifest] = None
        self._record: dict[str, Any] = {
            "schema_version": report.VERSION,
            "hook": requested.hook,
            "only": list(requested.only),
            "started": stamp(self._started),
            "python": report.python_version(),
        }

    def run(self) -> int:
        """Run the hook and write its report; return the exit code."""
        stopping = [number for number in _STOPPING if signal.getsignal(number) is not signal.SIG_IGN]
        for number in stopping:
            signal.signal(number, _stop)
        failure = self._attempt()
        for number in stopping:
            signal.signal(number, signal.SIG_IGN)
        if failure and failure.code is Code.ALREADY_RUNNING:
            return _exit_code(failure, self._requested.hook)  # the report belongs to the other run
        failure = failure or self._trouble()
        self._report(failure)
        try:
            report.write_report(self._places.log_dir, self._record)
        except Failure as unwritten:
            self._log.line(str(unwritten), error=True)
            failure = failure or unwritten
            self._report(failure)  # the report that is sent to S3 has it
        self._notify()
        if self._requested.json:
            import json

            with contextlib.suppress(OSError):
                print(json.dumps(self._record, indent=2), flush=True)
        return _exit_code(failure, self._requested.hook) if failure else 0

    def _attempt(self) -> Optional[Failure]:
        """Run the hook and return its failure, which is also printed on standard error."""
        try:
            return self._run()
        except Failure as error:
            failure = error
        except Exception as error:
            failed = file_system_failure(error)
            if failed is None:
                self._log.line(traceback.format_exc(), error=True)
            failure = failed or Failure(Code.UNEXPECTED_ERROR, f"{type(error).__name__}: {error}")
        self._log.line(str(failure), error=True)
        return failure

    def _run(self) -> Optional[Failure]:
        say = self._log.line
        self._manifest = manifest = read_bundle(self._places, self._requested.hook, say)
        self._record["bundle"] = {
            "fleet": manifest.fleet,
            "cluster": manifest.cluster,
            "content_hash": manifest.content_hash,
        }
        prepared = prepare(self._requested, manifest, self._places, self._limits, say, self._record)
        from llm_fleet_node.take_steps import take_steps  # not needed to report a broken bundle

        return take_steps(prepared, self._requested, self._limits, self._log, self._started, self._record)

    def _trouble(self) -> Optional[Failure]:
        """Return why state or log could not be written, e.g. on a disk that became full during the run."""
        if not self._log.trouble:
            return None
        failure = Failure(Code.REPORT, self._log.trouble)
        self._log.line(str(failure), error=True)
        return failure

    def _report(self, failure: Optional[Failure]) -> None:
        self._record["finished"] = stamp(time.time())
        self._record["seconds"] = round(time.time() - self._started, 3)
        self._record["code"] = failure.code.code if failure else "OK"
        self._record["cause"] = failure.cause if failure else None
        self._record["remedy"] = failure.code.remedy if failure else None
        self._log.line(f"{self._requested.hook}: {self._record['code']} after {self._record['seconds']:.2f} s")
        self._log.sync()

    def _notify(self) -> None:
        if self._manifest is None or self._manifest.reports is None:
            return
        from llm_fleet_node.notify import notify

        name = self._record.get("node", {}).get("instance_id") or os.uname().nodename
        try:
            notify(self._manifest, self._record, name, self._places, seconds=self._limits.reports, say=self._log.line)
        except Exception:
            self._log.line(traceback.format_exc())
        self._log.sync()


def _exit_code(failure: Failure, hook: str) -> int:
    """Return 1, or on ParallelCluster the code's number, because it reports only the exit code of a failed script."""
    return int(failure.code.code[len("LFN") :]) if hook == ON_NODE_CONFIGURED else 1


def _start_time() -> float:
    """Return the start time of the entry point in seconds since 1970, which bash sets before Python starts."""
    now = time.time()
    try:
        noted = float(os.environ.get("LLM_FLEET_STARTED", "").replace(",", "."))
    except ValueError:
        return now
    return noted if 0 <= now - noted < _OLDEST_START else now


def _stop(number: int, _: object) -> NoReturn:
    raise Failure(Code.STOPPED, f"the run was stopped by {signal.Signals(number).name}")
