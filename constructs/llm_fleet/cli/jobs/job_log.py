"""Shows what a job writes, and goes on until it has ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llm_fleet.cli.failure import refuse
from llm_fleet.cli.jobs.cluster_script import cluster_script
from llm_fleet.cli.session.session import CutOff, Session
from llm_fleet.rules.codes import Code

_NO_LOG = 4
_PAUSE = "2"
"""Seconds between two looks whether the job goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLog:
    """What a job of a run writes: that with `job_id`, else the newest of `stage`."""

    run: str
    run_folder: str
    stage: str
    job_id: str | None = None

    def show(self, session: Session, line: Callable[[str], None], *, lines: int) -> None:
        """Hand over the last `lines`. Raises `FleetError` (LF888, LF891)."""
        done = session.run(self._script(lines, follow=False))
        self._check(done.code)
        for one in done.lines:
            line(one)

    def follow(self, session: Session, line: Callable[[str], None]) -> None:
        """Hand over all that it wrote and writes until it has ended, in as many sessions as that takes.

        Raises `FleetError` (LF888, LF891).
        """
        count = 0
        failures = 0

        def hear(text: str) -> None:
            nonlocal count, failures
            count, failures = count + 1, 0
            line(text)

        while True:
            try:
                code = session.follow(self._script(count + 1, follow=True), hear)
            except CutOff as error:
                # A session ends when nothing is written for 20 minutes, and breaks off now and then.
                failures += 1
                session.pause(failures, str(error))
                continue
            self._check(code)
            return

    def _script(self, lines: int, *, follow: bool) -> str:
        """Return what the node runs. `lines`: how many of the last, or with `follow` from which on."""
        return cluster_script(
            "log",
            run=self.run,
            run_folder=self.run_folder,
            stage=self.stage,
            job=self.job_id or "",
            lines=str(lines),
            follow="yes" if follow else "no",
            pause=_PAUSE,
        )

    def _check(self, code: int) -> None:
        if code == _NO_LOG:
            what = f"job {self.job_id}" if self.job_id else f"stage {self.stage}"
            refuse(
                Code.JOBS_NO_LOG,
                f"{what} has written nothing in {self.run_folder}/logs",
                "wait until it runs (`squeue` on the cluster), or name another with --stage or --job",
                subject=f"run {self.run}",
            )
        if code:
            refuse(
                Code.JOBS_REFUSED, f"its log cannot be read: exit code {code}", "look on the cluster", subject=self.run
            )
