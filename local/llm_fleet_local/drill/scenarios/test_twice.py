"""The scripts run a second time on a running cluster: nothing changes, independent of the exit code."""

from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.fingerprint import differences, fingerprint


def test_scripts_run_twice_change_nothing(cluster: DrillCluster):
    # A scenario before this one may have replaced a node: the agent has then rewritten slurm.conf.
    cluster.run_scripts([cluster.view.controller.name])
    before = {name: fingerprint(node) for name, node in cluster.nodes.items()}
    started = {name: _daemons(cluster, name) for name in cluster.nodes}
    job = cluster.slurm.submit("#!/bin/sh\nsleep 8\n", "--partition=trn1", "--nodes=3")
    cluster.slurm.wait_for_job(job, "RUNNING", seconds=20)

    cluster.run_scripts()

    for name, node in cluster.nodes.items():
        assert differences(before[name], fingerprint(node)) == [], name
        assert _daemons(cluster, name) == started[name], f"{name}: a daemon was restarted"
        report = cluster.report(name)
        assert report is not None
        assert [(step["name"], step["changes"]) for step in report["steps"] if step["changes"]] == [], name
    done = cluster.slurm.wait_for_job(job, "COMPLETED", "FAILED", seconds=30)
    assert (done.state, done.restarts) == ("COMPLETED", 0)


def _daemons(cluster: DrillCluster, name: str) -> str:
    units = ("munge", "slurmctld", "slurmdbd", "slurmd", "mariadb")
    return cluster.node(name).run("systemctl", "show", "--property=Id,MainPID", *units).stdout
