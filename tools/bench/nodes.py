"""Measures how long the drill's nodes take to start; `python -m tools.bench.nodes`, as root.

First, the time from the start of the scripts on all nodes to the first srun over all of them, without the training
environment. Then, the build of that environment, which must not take longer with more nodes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from llm_fleet_local.drill.aws_emulator import AwsEmulator
from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.fleet import EXAMPLE
from llm_fleet_local.drill.journal import Journal
from llm_fleet_local.drill.report.collect import collect, write
from llm_fleet_local.drill.report.model import ENVIRONMENT, Run, ScriptRun, StepRun
from llm_fleet_local.drill.report.text import summary
from llm_fleet_local.drill.session import open_on, run_folder
from llm_fleet_local.drill.variant import write_variant
from llm_fleet_local.drill.work_folder import prepare_folders
from tools.synth_environment import ROOT

_COLUMNS = f"{'workers':>8} {'boot':>7} {'first srun':>11} {'all ended':>10} {'one node more':>14}"
_OF_ENVIRONMENTS = f"{'workers':>8} {'built in':>9} {'all have it':>12} {'verified in':>12}"


def main() -> int:
    """Measure the sizes of the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.nodes", description=__doc__)
    parser.add_argument("--fleet", type=Path, default=EXAMPLE, help=f"fleet file (default: {EXAMPLE.name})")
    parser.add_argument(
        "--workers", type=int, nargs="*", default=[2, 8, 16, 64], help="numbers of workers, one run each"
    )
    words = "numbers of workers for runs that measure the build of the training environment"
    parser.add_argument("--environments", type=int, nargs="*", default=[2, 8], help=words)
    given = parser.parse_args()
    return bench(given.fleet, given.workers, given.environments, console=Console())


def bench(fleet_file: Path, workers: Sequence[int], environments: Sequence[int], *, console: Console) -> int:
    """Measure one cluster of each size; print a line for each and the slowest paths. Return the exit code.

    `environments`: sizes of the clusters on which the training environment is built.
    """
    work = prepare_folders(ROOT)
    folder = run_folder(work)
    console.print(f"load of the machine before: {os.getloadavg()[0]:.1f}\n{_COLUMNS}", highlight=False)
    measured: dict[int, Run] = {}
    with AwsEmulator() as aws:
        for count in workers:
            measured[count] = _measure(aws, fleet_file, count, work, folder / str(count), packages=())
            console.print(_line(measured, count), highlight=False)
        trained = _environments(aws, fleet_file, environments, work, folder, console)
    for count, run in measured.items():
        console.rule(f"{count} workers: the slowest path", align="left")
        for line in [*_slowest(run), *(line for line in summary(run)[:1] if run.verdict != "healthy")]:
            console.print(line, highlight=False, markup=False)
    (folder / "bench.json").write_text(
        json.dumps({count: asdict(run)["timings"] for count, run in measured.items()}, indent=1) + "\n"
    )
    console.print(f"\nreports and numbers: {folder}", soft_wrap=True, highlight=False)
    return 0 if all(run.verdict == "healthy" for run in [*measured.values(), *trained]) else 1


def _environments(
    aws: AwsEmulator, fleet_file: Path, sizes: Sequence[int], work: Path, folder: Path, console: Console
) -> list[Run]:
    runs: list[Run] = []
    for count in sizes:
        run = _measure(aws, fleet_file, count, work, folder / f"environment-{count}", packages=None)
        runs.append(run)
        if run.environment is None:
            console.print(f"no training environment was built: {run.verdict}", highlight=False, markup=False)
            break
        if count == sizes[0]:
            console.print(f"the training environment, built once\n{_OF_ENVIRONMENTS}", highlight=False)
        ended = max(step.ended or 0 for script in run.scripts for step in script.steps if step.name == ENVIRONMENT)
        environment = run.environment
        began = next(event.at for event in run.events if event.what == "scripts")
        line = (
            f"{count:>8} {environment.seconds:>7.1f} s {ended - began:>10.1f} s {environment.verify_seconds:>10.2f} s"
        )
        console.print(line, highlight=False)
    return runs


def _measure(
    aws: AwsEmulator, fleet_file: Path, count: int, work: Path, folder: Path, *, packages: Sequence[str] | None
) -> Run:
    with TemporaryDirectory(prefix="drill-fleet-") as place:
        aws.deploy(write_variant(fleet_file, Path(place), workers=count, packages=packages))
    with open_on(aws, aws.clusters()[0], Journal(folder / "journal.jsonl"), work) as cluster:
        cluster.boot()
        verdict = _bring_up(cluster)
        run = collect(cluster, title=f"{count} workers", verdict=verdict)
    write(run, folder)
    return run


def _bring_up(cluster: DrillCluster) -> str:
    try:
        cluster.bring_up(seconds=600)
    except AssertionError as error:
        return str(error)
    return "healthy"


def _line(measured: dict[int, Run], count: int) -> str:
    run = measured[count]
    boot, srun, ended = (
        _span(run, "boot", "booted"),
        _span(run, "scripts", "srun"),
        _span(run, "scripts", "scripts-ended"),
    )
    smaller = [size for size in measured if size < count]
    more = ""
    if smaller:
        size = max(smaller)
        more = f"{(srun - _span(measured[size], 'scripts', 'srun')) / (count - size):.2f} s"
    return f"{count:>8} {boot:>5.1f} s {srun:>9.1f} s {ended:>8.1f} s {more:>14}"


def _span(run: Run, begin: str, end: str) -> float:
    """Return the seconds between two events of a run; NaN when one is missing."""
    began = next((event.at for event in run.events if event.what == begin), float("nan"))
    return next((event.at for event in run.events if event.what == end), float("nan")) - began


def _slowest(run: Run) -> list[str]:
    """Return the steps that decided when the slowest node was done, each with its time."""
    slowest = max(run.scripts, key=lambda script: max((step.ended or 0 for step in script.steps), default=0))
    steps = {step.name: step for step in slowest.steps}
    lines = [f"{slowest.node}: {_until_first_step(slowest):.2f} s until its first step"]
    return lines + [_step_line(steps[name]) for name in slowest.slowest_path]


def _until_first_step(script: ScriptRun) -> float:
    return min((step.started for step in script.steps if step.started), default=script.ended) - script.started


def _step_line(step: StepRun) -> str:
    parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in step.seconds.items())
    return f"  {step.name:<20} {(step.ended or 0) - (step.started or 0):6.2f} s  ({parts})"


if __name__ == "__main__":
    sys.exit(main())
