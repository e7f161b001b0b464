"""Two clusters on one machine, of the same fleet and with the same addresses, are isolated from each other."""

from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.scenarios.conftest import Deploy


def test_two_clusters_are_isolated(deploy: Deploy, cluster: DrillCluster):
    with deploy(3) as other:
        other.boot()
        other.bring_up()
        theirs, ours = other.workers[0], cluster.workers[0]
        other.node(theirs.name).run("sh", "-c", "echo theirs >/fsx/whose")
        assert cluster.node(ours.name).run("test", "-e", "/fsx/whose", check=False).returncode != 0
        keys = [one.controller.run("sha256sum", "/etc/munge/munge.key").stdout for one in (other, cluster)]
        assert keys[0] != keys[1]
        other.lose(theirs.name)
        other.slurm.wait_for_states(theirs.host_name, state="down*", seconds=60)
        assert len(cluster.srun_over_all()) == len(cluster.workers)
    assert len(cluster.srun_over_all()) == len(cluster.workers), "the end of one took something of the other with it"
