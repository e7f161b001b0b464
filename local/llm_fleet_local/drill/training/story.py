"""The training demonstration of the drill: a model is trained twice; a node is lost during the second training."""

from __future__ import annotations

from pathlib import Path

from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.jobs.render_run import training_runs
from llm_fleet.jobs.settings import TrainingRun
from llm_fleet.spec.jobs import Backend
from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.platforms.recovery import Recovery
from llm_fleet_local.drill.slurm import Job
from llm_fleet_local.drill.training.material import lay_out
from llm_fleet_local.drill.training.outcome import Trained, Training
from llm_fleet_local.drill.training.run_on_cluster import RunOnCluster
from llm_fleet_local.drill.until import until

_SECONDS = 300.0
"""Maximum seconds for a stage, on a machine with other work."""


def run_of(fleet: Fleet, cluster: str, folder: Path) -> tuple[TrainingRun, Path] | None:
    """Return the run that trains on CPUs of the cluster, with its model's config.json; `None` without one.

    `cluster`: its key in the fleet. `folder`: the one of the fleet file.
    """
    for name, run in training_runs(fleet).items():
        config = fleet.jobs[name].config
        if fleet.jobs[name].cluster in (None, cluster) and run.plan.backend is Backend.CPU and config is not None:
            return run, folder / config
    return None


def train_and_lose_a_worker(cluster: DrillCluster, run: TrainingRun, config: Path) -> Training:
    """Train undisturbed; train again, lose a worker during training, and wait until the cluster is healthy.

    Raises `JobFailed`, `NotInTime`, or `AssertionError` if the runs end with different parameters.
    """
    undisturbed = train_undisturbed(cluster, run, config)
    disturbed = RunOnCluster(cluster, run, name=f"{run.name}-again")
    disturbed.take_data_of(undisturbed)
    with Recovery(cluster) as recovery:
        first = start(cluster, disturbed)
        until(
            "the run is past its first checkpoint",
            lambda: _step(disturbed) > run.checkpoint.every + 2,
            seconds=_SECONDS,
        )
        lost = cluster.host_names[first.nodes[1]]
        cluster.lose(lost)
        last = finish(cluster, disturbed)
        recovery.wait_for(lost, seconds=_SECONDS)
    at = cluster.journal.last("lost", lost)
    assert at is not None
    training = Training(trained(undisturbed), trained(disturbed), lost, at.at, (first.nodes, last.nodes))
    assert training.went_on, "the node was lost too late, or the run restarted from its first step: nothing is proven"
    assert first.nodes[1] not in last.nodes, "no spare node has replaced the lost node"
    assert training.is_same, f"parameters differ: {undisturbed.result} and {disturbed.result}"
    assert training.is_same_curve, "a step after the loss of the node has another loss than in the undisturbed run"
    cluster.journal.note("same", f"both runs ended with identical parameters: {training.undisturbed.parameters_sha256}")
    return training


def lose_a_worker(cluster: DrillCluster) -> None:
    """Lose an idle worker of a fleet without such a run, and wait until it is healthy."""
    name = cluster.workers[-1].name
    with Recovery(cluster) as recovery:
        cluster.lose(name)
        recovery.wait_for(name, seconds=_SECONDS)


def train_undisturbed(cluster: DrillCluster, run: TrainingRun, config: Path) -> RunOnCluster:
    """Fetch the model, tokenize the text and train, each as a job; return the run when it has ended."""
    made = RunOnCluster(cluster, run)
    lay_out(cluster, made, config)
    made.submit("download", "tokenize", "train", settings={"WEIGHTS": "false"})
    for stage in ("download", "tokenize"):
        made.wait(stage, seconds=_SECONDS)
    cluster.journal.note("tokens", "the model's tokenizer was fetched and the text was tokenized")
    finish(cluster, made)
    return made


def start(cluster: DrillCluster, run: RunOnCluster) -> Job:
    """Submit the `train` stage; return its job when it runs."""
    run.submit("train")
    job = cluster.slurm.wait_for_job(run.jobs["train"], "RUNNING", seconds=60)
    cluster.journal.note("job", f"{run.run.name} trains on {' and '.join(job.nodes)}")
    return job


def finish(cluster: DrillCluster, run: RunOnCluster) -> Job:
    """Wait until the run has succeeded, and record its first step after the restart in the journal; return its job."""
    job = run.wait("train", seconds=_SECONDS)
    again = next((row for row in run.rows if row.restart), None)
    if again is not None:
        where = " and ".join(job.nodes)
        cluster.journal.note("job-again", f"{run.run.name} repeated step {again.step} on {where}", at=again.at)
    cluster.journal.note("job-ended", f"{run.run.name} has ended after {run.result['steps']} steps")
    return job


def trained(run: RunOnCluster) -> Trained:
    """Return the results of the run."""
    result = run.result
    return Trained(run.run.name, tuple(run.rows), result["parameters_sha256"], result["restarts"])


def _step(run: RunOnCluster) -> int:
    rows = run.rows
    return rows[-1].step if rows else 0
