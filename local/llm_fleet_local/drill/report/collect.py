"""Collects a run's report from the cluster, and writes it."""

from __future__ import annotations

import json
import os
import platform
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.journal import Entry
from llm_fleet_local.drill.platforms.slurm_conf import DRILL_PROFILE
from llm_fleet_local.drill.report.model import Event, Run, StandInUse, environment_of
from llm_fleet_local.drill.report.page import page
from llm_fleet_local.drill.stand_ins.stand_in import calls, stand_ins
from llm_fleet_local.drill.training.outcome import Training

_SPANS = (
    ("scripts", "srun", "from the start of the scripts on all nodes to the first srun over all of them"),
    ("scripts", "scripts-ended", "until the last script has ended and its report is in S3"),
    ("replace", "recovered", "from the start of a replacement to a healthy node"),
)
"""Measured intervals: from an event of the first kind to the next one of the second, and their description."""


def collect(cluster: DrillCluster, *, title: str, verdict: str, training: Training | None = None) -> Run:
    """Return the report of the run of `cluster` so far, and of the training on it."""
    entries = cluster.journal.entries
    return Run(
        title=title,
        verdict=verdict,
        machine=_machine(),
        content_hash=cluster.bundle.content_hash,
        proof=tuple(cluster.proof),
        profile=dict(DRILL_PROFILE),
        started=entries[0].at if entries else 0.0,
        events=tuple(Event(one.at, one.node, one.what, one.text) for one in sorted(entries, key=lambda one: one.at)),
        scripts=tuple(cluster.script_runs),
        stand_ins=_used(cluster.shared),
        timings=timings(entries),
        environment=environment_of(cluster.script_runs),
        training=training,
    )


def timings(entries: list[Entry]) -> dict[str, float]:
    """Return the seconds of the first interval of each type that was measured."""
    found: dict[str, float] = {}
    for begin, end, what in _SPANS:
        started = next((entry.at for entry in entries if entry.what == begin), None)
        ended = next((entry.at for entry in entries if entry.what == end and started and entry.at >= started), None)
        if started is not None and ended is not None:
            found[what] = ended - started
    return found


def write(run: Run, folder: Path) -> Path:
    """Write `report.json` and `report.html` into `folder`; return the page."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json.dumps(asdict(run), indent=1) + "\n", encoding="utf-8")
    target = folder / "report.html"
    target.write_text(page(run), encoding="utf-8")
    return target


def _used(shared: Path) -> tuple[StandInUse, ...]:
    counts = Counter(call.name for call in calls(shared))
    return tuple(
        StandInUse(one.name, one.plays, one.refuses, one.cannot, counts[one.name])
        for one in stand_ins()
        if counts[one.name]
    )


def _machine() -> str:
    return f"{os.cpu_count()} processors, Linux {platform.release()}, Python {platform.python_version()}"
