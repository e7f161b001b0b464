"""Machines go away while jobs run on them, and the cluster is whole again."""

from __future__ import annotations

from drill.cluster import DrillCluster
from drill.story import lose_a_worker_in_a_job
from drill.until import until

SECONDS_TO_RUN_AGAIN = 30
"""From the loss of a node to its job running on the spare, with the drill's timeouts."""


def test_a_worker_is_lost_while_a_job_runs(cluster: DrillCluster) -> None:
    """The job is requeued onto the spare, goes on from its checkpoint, and the lost node is replaced and back."""
    told = lose_a_worker_in_a_job(cluster)

    print(f"job running again {told.seconds_to_run_again:.1f} s after the loss")
    assert told.seconds_to_run_again < SECONDS_TO_RUN_AGAIN
    lost = cluster.instance(told.lost).host_name
    assert lost in told.first_nodes
    assert lost not in told.second_nodes
    begun = [line for line in told.log.splitlines() if line.startswith("begins at step ")]
    assert len(begun) == 2
    assert not begun[1].startswith("begins at step 0 ")
    assert set(cluster.slurm.states().values()) == {"idle"}
    cluster.srun_over_all()


def test_the_controller_is_rebooted_while_a_job_runs(cluster: DrillCluster) -> None:
    """The job does not notice, Slurm comes back by itself with its accounting, and the node has proven itself anew."""
    slurm, controller = cluster.slurm, cluster.controller
    job = slurm.submit("#!/bin/sh\nwhile ! test -e /fsx/go-on; do sleep 0.2; done\n", "--output=/fsx/patient.log")
    (worker,) = slurm.wait_for_job(job, "RUNNING", seconds=20).nodes

    cluster.reboot("controller-1")
    until("slurmctld answers", lambda: slurm.run("scontrol", "ping", check=False).returncode == 0, seconds=30)
    until("the node has proven itself", lambda: _unit_is(cluster, "llm-fleet.service", "inactive"), seconds=60)

    report = cluster.report("controller-1")
    assert report is not None
    assert report["code"] == "OK"
    after = slurm.wait_for_job(job, "RUNNING", seconds=20)
    assert (after.nodes, after.restarts) == ((worker,), 0)
    controller.write("/fsx/go-on", "")
    slurm.wait_for_job(job, "COMPLETED", seconds=20)
    until(
        "accounting knows of the job's end",
        lambda: slurm.run("sacct", "-Xnj", job, "--format=State", check=False).stdout.strip() == "COMPLETED",
        seconds=20,
    )
    controller.run("rm", "/fsx/go-on")
    cluster.srun_over_all()


def test_a_worker_is_rebooted_and_takes_jobs_again(cluster: DrillCluster) -> None:
    """Instance storage comes up empty, the node makes it anew at boot, and nobody had to be asked."""
    worker = cluster.workers[0]
    cluster.reboot(worker.name)
    cluster.resume(worker.name)
    until(
        "the node has proven itself",
        lambda: _unit_is(cluster, "llm-fleet.service", "inactive", worker.name),
        seconds=60,
    )
    report = cluster.report(worker.name)
    assert report is not None
    assert report["code"] == "OK"
    assert cluster.slurm.hosts_of(f"--nodelist={worker.host_name}") == [worker.host_name]


def _unit_is(cluster: DrillCluster, unit: str, state: str, name: str = "controller-1") -> bool:
    shown = cluster.node(name).run("systemctl", "show", "--property=ActiveState,Result", unit).stdout
    return shown == f"Result=success\nActiveState={state}\n" or shown == f"ActiveState={state}\nResult=success\n"
