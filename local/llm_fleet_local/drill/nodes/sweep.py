"""Removes clusters of killed drills: only resources in their records, and only if the drill has ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from llm_fleet_local.drill.nodes.cluster_record import ClusterRecord, clear, records
from llm_fleet_local.drill.nodes.docker_engine import clear_containers, find_engine


def sweep(work: Path, say: Callable[[str], None] = lambda _: None) -> list[str]:
    """Remove the clusters in `work` whose drill has ended; return a line for each."""
    done: list[str] = []
    for record, folder in records(work):
        if not record.is_owned():
            done.append(_clear(record, folder))
            say(done[-1])
    return done


def _clear(record: ClusterRecord, folder: Path) -> str:
    if record.engine:
        engine = find_engine((record.engine,))
        if engine is None:
            return f"the cluster {record.name} was not removed: {record.engine}, which runs its nodes, does not answer"
        clear_containers(engine, record.name)
    clear(record.name, folder)
    return f"removed the cluster {record.name}: the drill that created it (process {record.owner}) has ended"
