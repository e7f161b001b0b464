"""Removes clusters of killed drills: only resources in their records, and only when the drill has ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from local.drill.nodes.cluster_record import ClusterRecord, clear, records
from local.drill.nodes.docker_engine import clear_containers, find_engine
from local.drill.work_folder import work_folder


def sweep(work: Path | None = None, say: Callable[[str], None] = lambda _: None) -> list[str]:
    """Clear away the clusters below `work` (default: the drill's folder) whose drill is gone; return what was done."""
    done: list[str] = []
    for record, folder in records(work or work_folder()):
        if not record.is_owned():
            done.append(_clear(record, folder))
            say(done[-1])
    return done


def _clear(record: ClusterRecord, folder: Path) -> str:
    if record.engine:
        engine = find_engine((record.engine,))
        if engine is None:
            return f"the cluster {record.name} is left: {record.engine}, which runs its nodes, does not answer"
        clear_containers(engine, record.name)
    clear(record.name, folder)
    return f"cleared away the cluster {record.name}: the drill that made it (process {record.owner}) is gone"
