"""A node is replaced or rebooted after a request in Slurm, with the reasons that HyperPod defines."""

import pytest

from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.platforms.recovery import REBOOT, REPLACE, Recovery


@pytest.mark.parametrize("action", [REPLACE, REBOOT])
def test_a_node_is_recovered_by_the_platform(cluster: DrillCluster, action: str):
    worker = cluster.workers[-1]
    cluster.node(worker.name).run("touch", "/root/mark")
    with Recovery(cluster) as recovery:
        cluster.slurm.run("scontrol", "update", f"NodeName={worker.host_name}", "State=FAIL", f"Reason={action}")
        recovery.wait_for(worker.name, seconds=90)
    assert cluster.instance(worker.name).address == worker.address
    assert (cluster.instance(worker.name).instance_id == worker.instance_id) == (action == REBOOT)
    kept = cluster.node(worker.name).run("test", "-e", "/root/mark", check=False).returncode == 0
    assert kept == (action == REBOOT), "a replaced node has a fresh root, a rebooted one keeps its own"
    cluster.node(worker.name).run("rm", "-f", "/root/mark")
    assert len(cluster.srun_over_all()) == 3


def test_misspelled_reasons_have_no_effect(cluster: DrillCluster):
    worker = cluster.workers[-1]
    with Recovery(cluster) as recovery:
        cluster.slurm.run("scontrol", "update", f"NodeName={worker.host_name}", "State=FAIL", "Reason=action:replace")
        recovery.looks(3)
    assert recovery.recovered == []
    cluster.slurm.run("scontrol", "update", f"NodeName={worker.host_name}", "State=RESUME")
