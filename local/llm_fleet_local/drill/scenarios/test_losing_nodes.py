"""Machines are rebooted while jobs run, and the cluster recovers. For a lost machine, see `test_training.py`."""

from __future__ import annotations

from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.starts import report_stamp
from llm_fleet_local.drill.until import until


def test_the_controller_is_rebooted_while_a_job_runs(cluster: DrillCluster) -> None:
    """The job continues, Slurm restarts by itself with its accounting, and the node passes its checks again."""
    slurm, controller = cluster.slurm, cluster.controller
    job = slurm.submit("#!/bin/sh\nwhile ! test -e /fsx/go-on; do sleep 0.2; done\n", "--output=/fsx/patient.log")
    (worker,) = slurm.wait_for_job(job, "RUNNING", seconds=20).nodes

    old_report = report_stamp(controller)
    cluster.reboot("controller-1")
    until("slurmctld answers", lambda: slurm.run("scontrol", "ping", check=False).returncode == 0, seconds=30)
    _proves_itself_again(cluster, "controller-1", old_report)
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
    """Instance storage is empty after the boot, and the node configures it again by itself."""
    worker = cluster.workers[0]
    old_report = report_stamp(cluster.node(worker.name))
    cluster.reboot(worker.name)
    cluster.resume(worker.name)
    _proves_itself_again(cluster, worker.name, old_report)
    assert cluster.slurm.hosts_of(f"--nodelist={worker.host_name}") == [worker.host_name]


def _proves_itself_again(cluster: DrillCluster, name: str, old_report: int) -> None:
    """Wait for the report of the run that the node starts at boot, which must succeed."""
    node = cluster.node(name)
    until(f"{name} has proven itself after its boot", lambda: report_stamp(node) not in (0, old_report), seconds=60)
    report = cluster.report(name)
    assert report is not None
    assert report["code"] == "OK", report
