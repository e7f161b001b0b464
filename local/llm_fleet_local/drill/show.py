"""The demonstration: starts a cluster, trains a model while a node is lost and replaced, and reports the results."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from llm_fleet.jobs.settings import TrainingRun
from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.fleet import DrillFleet
from llm_fleet_local.drill.live import LiveView
from llm_fleet_local.drill.nodes.node import NodeError
from llm_fleet_local.drill.parallelcluster.show import show as show_parallelcluster
from llm_fleet_local.drill.report.collect import collect, write
from llm_fleet_local.drill.report.text import summary
from llm_fleet_local.drill.session import open_cluster
from llm_fleet_local.drill.training.outcome import Training
from llm_fleet_local.drill.training.story import lose_a_worker, train_and_lose_a_worker


def show(drilled: DrillFleet, work: Path, *, backend: str, console: Console) -> int:
    """Run the demonstration with its own cluster; return the exit code. A ParallelCluster has its own demonstration.

    Raises `LocalError` if there are too few workers to train.
    """
    if not drilled.is_hyperpod:
        return show_parallelcluster(drilled, work, backend=backend, console=console)
    view, trains = LiveView(console), drilled.run
    with view, open_cluster(drilled, work, backend=backend, listener=view.hear) as cluster:
        view.watch(cluster)
        verdict, training = _report(cluster, trains)
        run = collect(cluster, title=f"Drill of {drilled.file.name}", verdict=verdict, training=training)
        page = write(run, cluster.journal.folder)
    console.rule("how it went", align="left")
    for line in summary(run):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print(f"\nreport: {page}", markup=False, highlight=False, soft_wrap=True)
    return 0 if verdict == "healthy" else 1


def _report(cluster: DrillCluster, trains: tuple[TrainingRun, Path] | None) -> tuple[str, Training | None]:
    """Run the demonstration; return its outcome and the training."""
    training: Training | None = None
    try:
        cluster.boot()
        cluster.bring_up()
        if trains is None:
            lose_a_worker(cluster)
        else:
            training = train_and_lose_a_worker(cluster, *trains)
        cluster.srun_over_all()
    except (AssertionError, NodeError) as error:
        return str(error), training
    return "healthy", training
