"""A cluster comes up: all nodes at once, the controller last, and with more workers than usual."""

import json

import pytest

from drill.cluster import DrillCluster
from drill.scenarios.conftest import Deploy
from drill.stand_ins.stand_in import calls


def test_every_node_is_ready_and_answers_srun(cluster: DrillCluster):
    states = cluster.slurm.states()
    assert [states[one.host_name] for one in cluster.workers] == ["idle"] * 3
    assert len(cluster.srun_over_all()) == 3


def test_the_bundle_that_ran_is_the_one_in_the_bucket(cluster: DrillCluster):
    bundle = cluster.bundle
    for name, node in cluster.nodes.items():
        assert node.read(f"{bundle.folder}/SHA256SUMS").encode() == bundle.files["SHA256SUMS"], name
        node.run("sh", "-c", f"cd {bundle.folder} && sha256sum --check --strict --quiet SHA256SUMS")
        told = cluster.report(name)
        assert told is not None
        assert told["bundle"]["content_hash"] == bundle.content_hash


def test_a_job_can_be_submitted_on_the_login_node_and_is_accounted_for(cluster: DrillCluster):
    (login,) = cluster.view.of_role("Login")
    answer = cluster.node(login.name).run("srun", "--partition=trn1", "--nodes=3", "hostname", timeout=60)
    assert sorted(answer.stdout.split()) == sorted(one.host_name for one in cluster.workers)
    told = cluster.slurm.run("sacct", "--noheader", "--allocations", "--format=State,NNodes", "--parsable2").stdout
    assert "COMPLETED|3" in told.split()


def test_the_shared_file_system_is_one_for_all(cluster: DrillCluster):
    first, second, *_ = cluster.workers
    cluster.node(first.name).run("sh", "-c", "echo hello >/fsx/greeting")
    assert cluster.node(second.name).read("/fsx/greeting") == "hello\n"
    asked = {call.arguments[0] for call in calls(cluster.shared) if call.name == "mount.lustre"}
    (told,) = (one for one in json.loads(cluster.bundle.files["fleet.json"])["mounts"] if one["kind"] == "lustre")
    assert asked == {f"{told['dns_name']}@tcp:/{told['mount_name']}"}
    assert told["dns_name"] in {one.dns_name for one in cluster.aws.file_systems()}


@pytest.mark.parametrize("workers", [2, 8])
def test_all_nodes_at_once(deploy: Deploy, workers: int):
    with deploy(workers) as fresh:
        fresh.boot()
        fresh.bring_up()


def test_the_controller_last(deploy: Deploy):
    """Workers whose script began before there was a controller wait for it, and do not fail."""
    with deploy(2) as fresh:
        fresh.boot()
        controller = fresh.view.controller.name
        others = fresh.start_scripts(name for name in fresh.nodes if name != controller)
        others.wait_for_reports(seconds=5)
        assert not others.codes, "a node was ready, or gave up, without a controller"
        fresh.run_scripts([controller])
        assert set(others.wait(seconds=60).values()) == {0}
        fresh.srun_over_all()
