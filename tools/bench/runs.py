"""Runs commands alternately and records time and memory of each run."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median

from tools.synth_environment import ROOT

NO_ONE_READS_IT = subprocess.DEVNULL


@dataclass(frozen=True, kw_only=True)
class Case:
    """A command of this project's Python, with additional environment variables."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(kw_only=True)
class Samples:
    """Times and memory of the runs of one case."""

    seconds: list[float] = field(default_factory=list[float])
    peak_mib: list[float] = field(default_factory=list[float])
    processor_seconds: list[float] = field(default_factory=list[float])

    @property
    def wall(self) -> float:
        """The median wall time in seconds."""
        return median(self.seconds)

    @property
    def processor(self) -> float:
        """The minimum CPU time in seconds, user and system, of Python and the Node that it has waited for."""
        return min(self.processor_seconds)

    @property
    def memory(self) -> float:
        """The median peak resident size in MiB of the largest single process."""
        return median(self.peak_mib)


def interleaved(cases: Mapping[str, Case], *, rounds: int, progress: Callable[[int], None]) -> dict[str, Samples]:
    """Run every case once a round, A B C A B C …, after a round that does not count.

    Alternately, because a machine's speed drifts: compared cases are measured at about the same time.
    """
    samples = {name: Samples() for name in cases}
    for number in range(rounds + 1):
        progress(number)
        for name, case in cases.items():
            seconds, usage = _run(case)
            if number:
                samples[name].seconds.append(seconds)
                samples[name].peak_mib.append(_mib(usage))
                samples[name].processor_seconds.append(usage.ru_utime + usage.ru_stime)
    return samples


def _run(case: Case) -> tuple[float, resource.struct_rusage]:
    """Run `case` once; return its wall time and resource usage. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as out:
        environment = {**os.environ, "CDK_OUTDIR": out, **case.environment}
        # Otherwise llm-fleet's modules would be compiled again in every run, and the CDK's would not.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        before = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *case.arguments],
            cwd=ROOT,
            env=environment,
            stdout=NO_ONE_READS_IT,
            stderr=subprocess.PIPE,
        )
        assert process.stderr
        complaint = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - before
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args, stderr=complaint)
    return seconds, usage


def _mib(usage: resource.struct_rusage) -> float:
    """`ru_maxrss` counts KiB on Linux and covers the process and the children that it waited for (jsii's Node)."""
    return usage.ru_maxrss / 1024
