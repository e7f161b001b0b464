"""A cluster comes up: all nodes together, the controller last, and with more workers than usual."""

import json

import pytest

from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.nodes.node import Done
from llm_fleet_local.drill.platforms.slurm_conf import PATH
from llm_fleet_local.drill.scenarios.conftest import Deploy
from llm_fleet_local.drill.stand_ins.stand_in import calls


def test_every_node_is_ready_and_answers_srun(cluster: DrillCluster):
    states = cluster.slurm.states()
    assert [states[one.host_name] for one in cluster.workers] == ["idle"] * 3
    assert len(cluster.srun_over_all()) == 3


def test_the_bundle_that_ran_is_the_one_in_the_bucket(cluster: DrillCluster):
    bundle = cluster.bundle
    for name, node in cluster.nodes.items():
        assert node.read(f"{bundle.folder}/SHA256SUMS").encode() == bundle.files["SHA256SUMS"], name
        node.run("sh", "-c", f"cd {bundle.folder} && sha256sum --check --strict --quiet SHA256SUMS")
        report = cluster.report(name)
        assert report is not None
        assert report["bundle"]["content_hash"] == bundle.content_hash


def test_a_job_can_be_submitted_on_the_login_node_and_is_accounted_for(cluster: DrillCluster):
    (login,) = cluster.view.of_role("Login")
    answer = cluster.node(login.name).run("srun", "--partition=trn1", "--nodes=3", "hostname", timeout=60)
    assert sorted(answer.stdout.split()) == sorted(one.host_name for one in cluster.workers)
    accounted = cluster.slurm.run("sacct", "--noheader", "--allocations", "--format=State,NNodes", "--parsable2").stdout
    assert "COMPLETED|3" in accounted.split()
    _jobs_are_held_to_the_limits_of_their_account(cluster)


def _jobs_are_held_to_the_limits_of_their_account(cluster: DrillCluster) -> None:
    """The limits of the fleet file are in slurmdbd, and slurmctld enforces them for ada's jobs."""
    shown = ("--noheader", "--parsable2", "show", "associations", "cluster=train", "user=")
    associations = cluster.slurm.run(
        "sacctmgr", *shown, "format=Account,ParentName,Fairshare,MaxSubmitJobs,MaxWall,GrpTRES,MaxTRES"
    ).stdout.split()
    assert {"lab|root|10|||mem=5000000M,node=8|", "research|lab|1|80|2-00:00:00||node=4"} <= {*associations}
    assert "llm-fleet|root|1||||" in associations, "the image's own user has no limits"
    held = _submit_as_ada(cluster, "--time=3-0")
    assert held.returncode == 0, held.stderr
    try:
        assert cluster.slurm.run("squeue", "--noheader", "--format=%u %a %r").stdout.split() == [
            "ada",
            "research",
            "AssocMaxWallDurationPerJobLimit",
        ]
    finally:
        cluster.slurm.run("scancel", held.stdout.strip())
    beyond = _submit_as_ada(cluster, "--array=1-81")
    assert beyond.returncode != 0
    assert "AssocMaxSubmitJobLimit" in beyond.stderr
    elsewhere = _submit_as_ada(cluster, "--account=serving")
    assert "Invalid account" in elsewhere.stderr
    within = _submit_as_ada(cluster, "--time=1")
    cluster.slurm.wait_for_job(within.stdout.strip(), "COMPLETED", seconds=30)


def _submit_as_ada(cluster: DrillCluster, *options: str) -> Done:
    words = ("--parsable", "--partition=trn1", "--output=/dev/null", "--chdir=/tmp", *options, "--wrap=true")
    return cluster.login.run("runuser", "-u", "ada", "--", "/opt/slurm/bin/sbatch", *words, check=False)


def test_the_shared_file_system_is_one_for_all(cluster: DrillCluster):
    first, second, *_ = cluster.workers
    cluster.node(first.name).run("sh", "-c", "echo hello >/fsx/greeting")
    assert cluster.node(second.name).read("/fsx/greeting") == "hello\n"
    requested = {call.arguments[0] for call in calls(cluster.shared) if call.name == "mount.lustre"}
    (lustre,) = (one for one in json.loads(cluster.bundle.files["fleet.json"])["mounts"] if one["kind"] == "lustre")
    assert requested == {f"{lustre['dns_name']}@tcp:/{lustre['mount_name']}"}
    assert lustre["dns_name"] in {one.dns_name for one in cluster.aws.file_systems()}


def test_plugins_of_srun_are_known_by_what_the_controller_sends(cluster: DrillCluster):
    for one in (cluster.workers[0], *cluster.view.of_role("Login")):
        node = cluster.node(one.name)
        assert node.run("test", "-e", "/opt/slurm/etc/plugstack.conf.d", check=False).returncode != 0
        assert "--auto-resume" in node.run("/opt/slurm/bin/srun", "--help").stdout


def test_a_login_node_that_slurm_does_not_list_comes_up(deploy: Deploy):
    """AWS's sources contradict each other on whether HyperPod lists it.

    Source: assumption hyperpod-login-nodes-in-slurm
    """
    with deploy(1) as cluster:
        cluster.boot()
        (login,) = cluster.view.of_role("Login")
        listed = cluster.controller.read(PATH).splitlines(keepends=True)
        text = "".join(line for line in listed if not line.startswith(f"NodeName={login.host_name} "))
        cluster.controller.write(PATH, text)
        cluster.bring_up()
        node = cluster.node(login.name)
        assert login.host_name not in node.run("/opt/slurm/bin/sinfo", "--noheader", "--format=%N").stdout
        assert node.run("/opt/slurm/bin/srun", "--partition=trn1", "hostname").stdout.split() == [
            cluster.workers[0].host_name
        ]


@pytest.mark.parametrize("workers", [2, 8])
def test_all_nodes_start_together(deploy: Deploy, workers: int):
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
        assert not others.codes, "a node was ready, or failed, without a controller"
        fresh.run_scripts([controller])
        assert set(others.wait(seconds=60).values()) == {0}
        fresh.srun_over_all()
