"""`make drill`: a cluster is brought up, runs a job, loses a node, heals, and tells how it went."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from drill.cluster import DrillCluster
from drill.live import LiveView
from drill.nodes.node import NodeError
from drill.parallelcluster.show import show as show_parallelcluster
from drill.report.collect import collect, write
from drill.report.text import summary
from drill.session import first_kind, open_cluster
from drill.story import lose_a_worker_in_a_job


def show(fleet_file: Path, *, workers: int | None, backend: str, console: Console) -> int:
    """Tell the story with a cluster of its own; return the exit code. One of ParallelCluster has a story of its own."""
    if first_kind(fleet_file) == "parallelcluster":
        return show_parallelcluster(fleet_file, backend=backend, console=console)
    view = LiveView(console)
    with view, open_cluster(fleet_file, workers=workers, backend=backend, listener=view.hear) as cluster:
        view.watch(cluster)
        verdict = _tell(cluster)
        run = collect(cluster, title=f"Drill of {fleet_file.name}", verdict=verdict)
        page = write(run, cluster.journal.folder)
    console.rule("how it went", align="left")
    for line in summary(run):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print(f"\nreport: {page}", markup=False, highlight=False, soft_wrap=True)
    return 0 if verdict == "healthy" else 1


def _tell(cluster: DrillCluster) -> str:
    """Tell the story; return how it ended."""
    try:
        cluster.boot()
        cluster.bring_up()
        lose_a_worker_in_a_job(cluster)
        cluster.srun_over_all()
    except (AssertionError, NodeError) as error:
        return str(error)
    return "healthy"
