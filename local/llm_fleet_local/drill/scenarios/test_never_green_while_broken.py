"""Errors that appear on a healthy node: while they last, its script reports them and never ends with 0.

The errors were found on nodes outside the drill. Each is created on a healthy node, and the same script succeeds when
the error is removed.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.cluster_view import Instance
from llm_fleet_local.drill.until import until

_FILL = "head -c 100M /dev/zero >{0}/filler 2>/dev/null; true"
_SPOOL, _STATE = "/var/spool/slurmd", "/var/spool/slurmctld"


def test_slurmd_has_no_room(cluster: DrillCluster) -> None:
    """slurmd drains its node, as root: only Slurm's reason distinguishes that from a drain by an operator."""
    worker = cluster.workers[-1]
    node, host = cluster.node(worker.name), worker.host_name
    with _small(cluster, worker, _SPOOL, unit="slurmd"):
        node.run("sh", "-c", _FILL.format(_SPOOL))
        cluster.slurm.run("srun", "--immediate=5", f"--nodelist={host}", "hostname", check=False)
        said = "SlurmdSpoolDir is full"
        until("slurmd has drained it", lambda: cluster.slurm.reasons().get(host, "").startswith(said), seconds=20)
        assert f"{_SPOOL} has 0 MiB" in _refused(cluster, worker)
        node.run("rm", f"{_SPOOL}/filler")
        assert cluster.run_scripts([worker.name]) == {worker.name: 0}
        cluster.slurm.wait_for_states(host, state="idle", seconds=10)


def test_a_node_drained_by_an_operator_stays_drained(cluster: DrillCluster) -> None:
    worker = cluster.workers[-1]
    cluster.slurm.run("scontrol", "update", f"NodeName={worker.host_name}", "State=DRAIN", "Reason=ada looks into it")
    assert cluster.run_scripts([worker.name]) == {worker.name: 0}
    assert cluster.slurm.states()[worker.host_name] == "drained"
    cluster.slurm.run("scontrol", "update", f"NodeName={worker.host_name}", "State=RESUME")


def test_slurmctld_cannot_save_its_state(cluster: DrillCluster) -> None:
    """slurmctld still answers, but rejects sbatch: the script and the node's check report it."""
    controller = cluster.view.controller
    node = cluster.controller
    with _small(cluster, controller, _STATE, unit="slurmctld"):
        assert cluster.run_scripts([controller.name]) == {controller.name: 0}
        node.run("sh", "-c", _FILL.format(_STATE))
        assert "I/O error" in cluster.slurm.run("sbatch", "--wrap=true", check=False).stderr
        assert "is UP" in cluster.slurm.run("scontrol", "ping").stdout
        assert f"{_STATE} has 0 MiB" in _refused(cluster, controller)
        node.run("systemctl", "start", "llm-fleet-health-check", check=False)
        said = node.run("systemctl", "status", "--no-pager", "llm-fleet-health-check", check=False).stdout
        assert f"{_STATE} has 0 MiB left, less than 16 MiB" in said
        node.run("rm", f"{_STATE}/filler")
        node.run("systemctl", "start", "llm-fleet-health-check")
    assert cluster.run_scripts([controller.name]) == {controller.name: 0}


def test_the_disk_of_the_logs_is_full(cluster: DrillCluster) -> None:
    """The platform's log is on the same disk: no log can be written, and an earlier run's report must be removed."""
    worker = cluster.workers[-1]
    assert cluster.run_scripts([worker.name]) == {worker.name: 0}
    with _small(cluster, worker, "/var/log", unit="munge"):
        cluster.node(worker.name).run("sh", "-c", _FILL.format("/var/log"))
        assert cluster.run_scripts([worker.name], check=False) == {worker.name: 1}
        assert cluster.report(worker.name) is None
        cluster.node(worker.name).run("rm", "/var/log/filler")
        assert cluster.run_scripts([worker.name]) == {worker.name: 0}


@pytest.mark.parametrize("what", ["-t tmpfs none", "--bind /var/tmp"])
def test_something_else_is_mounted_at_the_place_of_lustre(cluster: DrillCluster, what: str) -> None:
    """The kernel has no Lustre here, as after an upgrade without the module: each node would have a /fsx of its own."""
    worker = cluster.workers[-1]
    node = cluster.node(worker.name)
    node.run("sh", "-ec", f"mount {what} /fsx")
    try:
        refused = _refused(cluster, worker)
        assert refused.startswith("LFN51 ")
        assert " is mounted at /fsx instead of " in refused
    finally:
        node.run("umount", "/fsx")
    assert cluster.run_scripts([worker.name]) == {worker.name: 0}


def _refused(cluster: DrillCluster, instance: Instance) -> str:
    """Run the node's script, which must fail; return the code and the cause that its report has."""
    assert cluster.run_scripts([instance.name], check=False)[instance.name] == 1
    report = cluster.report(instance.name) or {}
    return f"{report['code']} {report['cause']}"


@contextmanager
def _small(cluster: DrillCluster, instance: Instance, folder: str, *, unit: str) -> Generator[None]:
    """Let `folder` be on a small disk of its own, with what is in it, while `unit` runs."""
    node = cluster.node(instance.name)
    node.run(
        *("sh", "-ec"),
        f"systemctl stop {unit}; cp -a {folder} /root/kept; mount -t tmpfs -o size=40M drill {folder};"
        f"chown --reference=/root/kept {folder}; cp -a /root/kept/. {folder}/; rm -r /root/kept;"
        f"systemctl start {unit}",
    )
    try:
        yield
    finally:
        node.run(
            *("sh", "-ec"),
            f"rm -f {folder}/filler; systemctl stop {unit}; cp -a {folder} /root/kept; umount -l {folder};"
            f"cp -a /root/kept/. {folder}/; rm -r /root/kept; systemctl start {unit}",
        )
