"""AWS ParallelCluster: head node, login node and two queues, each node brought up by the one file that it is told."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import aws_cdk as cdk
import pytest

from drill.cluster_view import FileSystem
from drill.embedded_aws import EmbeddedAws
from drill.nodes.choose import make_backend
from drill.parallelcluster.cluster import ParallelClusterDrill
from drill.parallelcluster.view import ParallelClusterView
from llm_fleet.lifecycle.cluster_user import ClusterUser
from llm_fleet.lifecycle.lifecycle_bucket import LifecycleBucket
from llm_fleet.lifecycle.lifecycle_bundle import LifecycleBundle
from llm_fleet.lifecycle.node_manifest import NodeGroup, NodeManifest, NodeMount
from llm_fleet.rules.terms import NodePlatform, NodeType, ParallelClusterHook

NAME = "pc-train-0a1b2c3d"
LUSTRE = FileSystem("LUSTRE", "fs-1.fsx.us-west-2.amazonaws.com", "abcdefgh", "fs-1")
FIRST, SECOND, DYNAMIC = "trn-st-large-1", "trn-st-large-2", "cpu-dy-small-1"
LOGIN = "ip-10-66-0-11"
_HOOK = ParallelClusterHook.ON_NODE_CONFIGURED


@dataclass
class Deployed:
    """The cluster's bundles in the embedded AWS, and its configuration."""

    aws: EmbeddedAws

    def deploy(self, *skip_steps: str) -> ParallelClusterView:
        """Publish the bundle, changed by `skip_steps`; return the cluster as it is then configured."""

        def make(app: cdk.App) -> None:
            environment = cdk.Environment(account="123456789012", region="us-west-2")
            stack = cdk.Stack(app, "pc-bundle", env=environment)
            bucket = LifecycleBucket(stack, "Bucket", name_part="pc").bucket
            made = LifecycleBundle(stack, "Bundle", bucket=bucket, manifest=_manifest(skip_steps))
            for name in ("entry_s3_uri", "pointer_s3_uri", "source_s3_uri", "checksums_sha256"):
                cdk.CfnOutput(stack, name.replace("_", ""), value=getattr(made, name))

        self.aws.deploy_app(make)
        (stack,) = self.aws.client("cloudformation").describe_stacks(StackName="pc-bundle")["Stacks"]
        told = {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}
        return ParallelClusterView(NAME, "us-west-2", _configuration(told))


def _manifest(skip_steps: tuple[str, ...]) -> NodeManifest:
    def group(name: str, role: NodeType, kind: str, partition: str | None = None) -> NodeGroup:
        return NodeGroup(name=name, role=role, instance_types=[kind], partition=partition, hook=_HOOK)

    return NodeManifest(
        fleet_name="pc",
        region="us-west-2",
        cluster_name=NAME,
        platform=NodePlatform.PARALLELCLUSTER,
        accounting=None,
        groups=[
            group("HeadNode", NodeType.CONTROLLER, "m5.xlarge"),
            group("trn", NodeType.COMPUTE, "trn1.32xlarge", "trn"),
            group("cpu", NodeType.COMPUTE, "m5.xlarge", "cpu"),
            group("LoginNodes-door", NodeType.LOGIN, "m5.xlarge"),
        ],
        mounts=[NodeMount(kind="lustre", dns_name=LUSTRE.dns_name, mount_name=LUSTRE.mount_name, mount_path="/fsx")],
        users=[ClusterUser(name="ada", uid=2001)],
        skip_steps=skip_steps,
    )


def _configuration(told: dict[str, str]) -> dict[str, Any]:
    """The part of ParallelCluster's configuration that nodes come from."""

    def pinned(group: str) -> dict[str, Any]:
        script = f"{told['sources3uri']}on_node_configured.sh"
        return {"Script": script, "Args": [told["sources3uri"], told["checksumssha256"], group]}

    def lasting(group: str) -> dict[str, Any]:
        configured = {"Script": told["entrys3uri"], "Args": [told["pointers3uri"], group]}
        return {"OnNodeConfigured": configured, "OnNodeUpdated": pinned(group)}

    def queue(name: str, resource: dict[str, Any]) -> dict[str, Any]:
        scratch = {"EphemeralVolume": {"MountDir": "/local_scratch"}}
        return {
            "Name": name,
            "ComputeResources": [resource],
            "ComputeSettings": {"LocalStorage": scratch},
            "CustomActions": {"OnNodeConfigured": pinned(name)},
        }

    trn = {"Name": "large", "InstanceType": "trn1.32xlarge", "MinCount": 2, "MaxCount": 2}
    cpu = {"Name": "small", "InstanceType": "m5.xlarge", "MaxCount": 1}
    lustre = {"FileSystemId": LUSTRE.id}
    door = {"Name": "door", "InstanceType": "m5.xlarge", "Count": 1, "CustomActions": lasting("LoginNodes-door")}
    return {
        "HeadNode": {"InstanceType": "m5.xlarge", "CustomActions": lasting("HeadNode")},
        "LoginNodes": {"Pools": [door]},
        "Scheduling": {"SlurmQueues": [queue("trn", trn), queue("cpu", cpu)]},
        "SharedStorage": [{"Name": "fsx", "MountDir": "/fsx", "StorageType": "FsxLustre", "FsxLustreSettings": lustre}],
    }


@pytest.fixture(scope="module")
def deployed(aws: EmbeddedAws) -> Deployed:
    return Deployed(aws)


@pytest.fixture(scope="module")
def cluster(aws: EmbeddedAws, deployed: Deployed) -> Generator[ParallelClusterDrill]:
    """The cluster, up. Scenarios leave it as healthy as they found it."""
    with make_backend(say=lambda _: None) as backend:
        made = ParallelClusterDrill(deployed.deploy(), backend, endpoint=aws.endpoint, systems=[LUSTRE])
        try:
            made.bring_up()
            yield made
        finally:
            made.stop()


def test_jobs_of_a_user_run_over_static_nodes_from_the_login_node(cluster: ParallelClusterDrill):
    script = "#!/bin/bash\n#SBATCH -N2 -p trn --wait -o /fsx/out\nsrun bash -c 'touch /local_scratch/x && hostname'\n"
    login = cluster.nodes[LOGIN]
    login.run("chmod", "1777", "/fsx")
    login.run("su", "ada", "-c", "/opt/slurm/bin/sbatch", input=script)
    assert sorted(login.read("/fsx/out").split()) == [FIRST, SECOND]
    assert cluster.nodes[FIRST].run("stat", "-c", "%U", "/local_scratch/x").stdout == "ada\n"
    for name, node in cluster.nodes.items():
        assert "llm-fleet" not in node.read("/opt/slurm/etc/slurm.conf").lower(), name


def test_a_dynamic_node_starts_for_a_job(cluster: ParallelClusterDrill):
    job = cluster.slurm.submit("#!/bin/bash\nhostname\n", "-p", "cpu", "-o", "/fsx/dynamic")
    assert cluster.start_for_a_job() == [DYNAMIC]
    assert cluster.slurm.wait_for_job(job, "COMPLETED", "FAILED", seconds=60).state == "COMPLETED"
    assert cluster.nodes[DYNAMIC].read("/fsx/dynamic") == f"{DYNAMIC}\n"
    assert cluster.report(DYNAMIC)["node"]["group"] == "cpu"


def test_a_sick_node_is_found_before_a_job_and_the_job_runs_elsewhere(cluster: ParallelClusterDrill):
    sick = cluster.nodes[FIRST]
    sick.run("mv", "/dev/neuron3", "/dev/lost-neuron3")
    job = cluster.slurm.submit("#!/bin/bash\nhostname\n", "-p", "trn", "-o", "/fsx/elsewhere")
    assert cluster.slurm.wait_for_job(job, "COMPLETED", "FAILED", seconds=60).nodes == (SECOND,)
    assert cluster.slurm.reasons()[FIRST] == "llm-fleet: 15 of 16 devices /dev/neuron[0-9]*"
    sick.run("mv", "/dev/lost-neuron3", "/dev/neuron3")
    sick.run("/opt/llm-fleet/slurm/health_check.sh", "--resume")
    cluster.slurm.wait_for_states(FIRST, state="idle", seconds=30)


def test_running_an_action_again_changes_nothing(cluster: ParallelClusterDrill):
    for name in ("ip-10-66-0-10", LOGIN, SECOND):
        assert cluster.run_action(name, cluster.action(name)) == "", name
        report = cluster.report(name)
        assert {step["name"]: step["changes"] for step in report["steps"] if step["changes"]} == {}, name


def test_what_is_not_the_clusters_own_bundle_is_refused_and_told_by_the_exit_code(
    cluster: ParallelClusterDrill, aws: EmbeddedAws
):
    s3, pinned, lasting = aws.client("s3"), cluster.action(FIRST), cluster.action(LOGIN)
    before = cluster.nodes[LOGIN].read("/opt/llm-fleet/current/SHA256SUMS")
    pointer, group = lasting.arguments
    bucket, _, key = pointer.removeprefix("s3://").partition("/")
    line = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    try:
        s3.put_object(Bucket=bucket, Key=key, Body=line.replace(b"/pc/", b"/another/"))
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
    assert {name for name in now if now[name] != old[name]} == {"ip-10-66-0-10", LOGIN}
    assert cluster.slurm.hosts_of("-N2", "-p", "trn") == [FIRST, SECOND]

    cluster.slurm.run("scontrol", "update", f"nodename={SECOND}", "state=drain", "reason=update")
    cluster.replace(SECOND)
    cluster.replace(LOGIN)
    cluster.slurm.wait_for_states(FIRST, SECOND, state="idle", seconds=60)
    now = _bundles(cluster)
    assert {name for name in now if now[name] == old[name]} == {FIRST, DYNAMIC}
    assert len(set(now.values())) == 2
    assert cluster.slurm.hosts_of("-N2", "-p", "trn") == [FIRST, SECOND]


def _bundles(cluster: ParallelClusterDrill) -> dict[str, str]:
    """Return the content hash of the bundle that each node was last proven by."""
    return {name: cluster.report(name)["bundle"]["content_hash"] for name in cluster.nodes}


def _code(told: str) -> int:
    """Return the exit code that ParallelCluster tells of a failed action."""
    return int(told.strip().removesuffix(".").rpartition(" ")[2])
