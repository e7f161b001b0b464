"""AWS ParallelCluster: head node, login node and two queues, each node brought up by its one custom action."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from llm_fleet_local.drill.aws_emulator import AwsEmulator
from llm_fleet_local.drill.nodes.choose import make_backend
from llm_fleet_local.drill.parallelcluster.cluster import ParallelClusterDrill
from llm_fleet_local.drill.parallelcluster.view import ParallelClusterView
from llm_fleet_local.drill.scenarios.trains import Trains
from llm_fleet_local.drill.until import until

FLEET = Path(__file__).parents[4] / "examples/parallelcluster-drill.yaml"
HEAD, LOGIN = "ip-10-66-0-10", "ip-10-66-0-11"
FIRST, SECOND, DYNAMIC = "trn1-st-trn1-1", "trn1-st-trn1-2", "cpu-dy-cpu-1"


@dataclass
class Deployed:
    """The fleet, deployed to the AWS emulator."""

    aws: AwsEmulator
    folder: Path

    def deploy(self, *skip_steps: str) -> ParallelClusterView:
        """Deploy the fleet, its scripts changed by `skip_steps`; return the cluster as it is then configured."""
        fleet = cast("dict[str, Any]", yaml.safe_load(FLEET.read_text(encoding="utf-8")))
        cluster = fleet["clusters"]["train"]
        cluster["downloads"]["lock"] = str(FLEET.parent / cluster["downloads"]["lock"])
        if skip_steps:
            cluster["scripts"] = {"skip": list(skip_steps)}
        file = self.folder / FLEET.name
        file.write_text(yaml.safe_dump(fleet), encoding="utf-8")
        self.aws.deploy(file)
        (view,) = self.aws.parallelclusters()
        return view


@pytest.fixture(scope="module")
def deployed(aws: AwsEmulator, tmp_path_factory: pytest.TempPathFactory) -> Deployed:
    return Deployed(aws, tmp_path_factory.mktemp("fleet"))


@pytest.fixture(scope="module")
def cluster(aws: AwsEmulator, work: Path, deployed: Deployed, trains: Trains) -> Generator[ParallelClusterDrill]:
    """The running cluster. Scenarios must leave it healthy.

    What jobs train with is on its shared storage from the beginning, as a data repository would bring it: it is the
    one that HyperPod's nodes have built, by the same name.
    """
    view = deployed.deploy()
    with make_backend(work, say=lambda _: None) as backend:
        made = ParallelClusterDrill(view, backend, aws)
        ours, theirs = (one.on_machine("/fsx/llm-fleet/environments") for one in (made, trains.cluster))
        shutil.copytree(theirs, ours, symlinks=True, copy_function=os.link)
        try:
            made.bring_up()
            yield made
        finally:
            made.stop()


def test_jobs_of_a_user_run_over_static_nodes_from_the_login_node(cluster: ParallelClusterDrill):
    script = "#!/bin/bash\n#SBATCH -N2 -p trn1 --wait -o /fsx/out\nsrun bash -c 'touch /local_scratch/x && hostname'\n"
    login = cluster.nodes[LOGIN]
    login.run("chmod", "1777", "/fsx")
    login.run("su", "ada", "-c", "/opt/slurm/bin/sbatch", input=script)
    assert sorted(login.read("/fsx/out").split()) == [FIRST, SECOND]
    assert cluster.nodes[FIRST].run("stat", "-c", "%U", "/local_scratch/x").stdout == "ada\n"
    for name, node in cluster.nodes.items():
        assert "llm-fleet" not in node.read("/opt/slurm/etc/slurm.conf").lower(), name


def test_training_goes_on_after_a_crash_by_putting_itself_back_into_the_queue(
    cluster: ParallelClusterDrill, trains: Trains
):
    """No node is lost, so Slurm itself does nothing, and there is no --auto-resume. The parameters are HyperPod's."""
    for name in (FIRST, SECOND):
        steps = {step["name"]: step for step in cluster.report(name)["steps"]}
        assert steps["training_environment"]["changes"] == [], "it was built again"
    run = trains.again("crash", every=5, ground=cluster)
    run.submit("train")
    until("a checkpoint is there", lambda: (run.folder / "checkpoints" / "step_00000005").exists(), seconds=90)
    cluster.nodes[SECOND].run("pkill", "-KILL", "-f", "llm_fleet_training train")
    job = run.wait("train", seconds=120)
    assert (job.restarts, run.result["restarts"]) == (1, 1)
    assert f"requeued, restart 1 of at most {run.run.max_restarts}" in run.log("train")
    trains.assert_same(run)
    for node in cluster.nodes.values():
        requested = node.run("/opt/slurm/bin/srun", "--help", check=False).stdout
        assert "--auto-resume" not in requested


def test_a_dynamic_node_starts_for_a_job(cluster: ParallelClusterDrill):
    job = cluster.slurm.submit("#!/bin/bash\nhostname\n", "-p", "cpu", "-o", "/fsx/dynamic")
    assert cluster.start_for_a_job() == [DYNAMIC]
    assert cluster.slurm.wait_for_job(job, "COMPLETED", "FAILED", seconds=60).state == "COMPLETED"
    assert cluster.nodes[DYNAMIC].read("/fsx/dynamic") == f"{DYNAMIC}\n"
    assert cluster.report(DYNAMIC)["node"]["group"] == "cpu"


def test_an_unhealthy_node_is_found_before_a_job_and_the_job_runs_elsewhere(cluster: ParallelClusterDrill):
    sick = cluster.nodes[FIRST]
    sick.run("mv", "/dev/neuron3", "/dev/lost-neuron3")
    job = cluster.slurm.submit("#!/bin/bash\nhostname\n", "-p", "trn1", "-o", "/fsx/elsewhere")
    assert cluster.slurm.wait_for_job(job, "COMPLETED", "FAILED", seconds=60).nodes == (SECOND,)
    assert cluster.slurm.reasons()[FIRST] == "llm-fleet: 15 of 16 devices /dev/neuron[0-9]*"
    sick.run("mv", "/dev/lost-neuron3", "/dev/neuron3")
    sick.run("/opt/llm-fleet/slurm/health_check.sh", "--resume")
    cluster.slurm.wait_for_states(FIRST, state="idle", seconds=30)


def test_running_an_action_again_changes_nothing(cluster: ParallelClusterDrill):
    def again(name: str) -> str:
        return cluster.run_action(name, cluster.action(name))

    names = (HEAD, LOGIN, SECOND)
    with ThreadPoolExecutor() as pool:
        errors = list(pool.map(again, names))
    assert errors == ["", "", ""]
    for name in names:
        report = cluster.report(name)
        assert {step["name"]: step["changes"] for step in report["steps"] if step["changes"]} == {}, name


def test_what_is_not_the_clusters_own_bundle_is_refused_and_reported_by_the_exit_code(
    cluster: ParallelClusterDrill, aws: AwsEmulator
):
    s3, pinned, lasting = aws.client("s3"), cluster.action(FIRST), cluster.action(LOGIN)
    before = cluster.nodes[LOGIN].read("/opt/llm-fleet/current/SHA256SUMS")
    pointer, group = lasting.arguments
    bucket, _, key = pointer.removeprefix("s3://").partition("/")
    line = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    try:
        s3.put_object(Bucket=bucket, Key=key, Body=line.replace(b"/drill-pc/", b"/another/"))
        assert _code(cluster.run_action(LOGIN, lasting)) == 16
        s3.delete_object(Bucket=bucket, Key=key)
        assert _code(cluster.run_action(LOGIN, lasting)) == 15
    finally:
        s3.put_object(Bucket=bucket, Key=key, Body=line)
    other = replace(pinned, arguments=(pinned.arguments[0], "0" * 64, group))
    assert _code(cluster.run_action(LOGIN, other)) == 39
    assert cluster.nodes[LOGIN].read("/opt/llm-fleet/current/SHA256SUMS") == before
    assert cluster.run_action(LOGIN, lasting) == ""


def test_an_update_reaches_head_and_login_nodes_at_once_and_queues_as_nodes_are_replaced(
    cluster: ParallelClusterDrill, deployed: Deployed
):
    old = _bundles(cluster)
    assert len(set(old.values())) == 1
    lasting = cluster.action(LOGIN)
    cluster.update(deployed.deploy("exporters"))
    assert cluster.action(LOGIN) == lasting, "what login nodes were created with may never change"
    now = _bundles(cluster)
    assert {name for name in now if now[name] != old[name]} == {HEAD, LOGIN}
    assert cluster.slurm.hosts_of("-N2", "-p", "trn1") == [FIRST, SECOND]

    cluster.slurm.run("scontrol", "update", f"nodename={SECOND}", "state=drain", "reason=update")
    cluster.replace(SECOND, LOGIN)
    cluster.slurm.wait_for_states(FIRST, SECOND, state="idle", seconds=60)
    now = _bundles(cluster)
    assert {name for name in now if now[name] == old[name]} == {FIRST, DYNAMIC}
    assert len(set(now.values())) == 2
    assert cluster.slurm.hosts_of("-N2", "-p", "trn1") == [FIRST, SECOND]


def _bundles(cluster: ParallelClusterDrill) -> dict[str, str]:
    """Return the content hash of the bundle that each node was last proven by."""
    return {name: cluster.report(name)["bundle"]["content_hash"] for name in cluster.nodes}


def _code(error: str) -> int:
    """Return the exit code in ParallelCluster's message of a failed action."""
    return int(error.strip().removesuffix(".").rpartition(" ")[2])
