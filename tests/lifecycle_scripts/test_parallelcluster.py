"""AWS ParallelCluster: the file that it downloads gets the bundle, and nodes are identified."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.rules.terms import ParallelClusterHook
from llm_fleet_node.failures import Failure
from llm_fleet_node.identity import Identity, identify
from llm_fleet_node.manifest import read
from llm_fleet_node.places import Places
from tests.lifecycle_scripts.runs import wait_until
from tests.lifecycle_scripts.throwaway_node import Node

SCRIPT = "on_node_configured.sh"
COMPUTE = """\
stack_name=train
cfn_preinstall_args=()
cfn_region=us-west-2
cfn_node_type=ComputeFleet
cfn_cluster_user=ubuntu
cfn_head_node=ip-10-1-0-5
cfn_head_node_private_ip=10.1.0.5
cfn_scheduler_queue_name=trn
"""
HEAD = "stack_name=train\ncfn_region=us-west-2\ncfn_node_type=HeadNode\n"
METADATA = """\
#!/bin/bash
case "$*" in
  *"--request PUT"*/latest/api/token) echo secret ;;
  *"X-aws-ec2-metadata-token: secret"*/latest/meta-data/placement/region) printf us-gov-west-1 ;;
  *) exit 22 ;;
esac
"""
"""A curl that reaches a metadata service of GovCloud, which answers to nothing but a token of its own (IMDSv2)."""


@pytest.fixture
def cluster(node: Node, aws: Path) -> Node:
    """A node of ParallelCluster, with the bundle in S3 and the hook's script at ParallelCluster's path."""
    publish(node, aws)
    return node


def publish(node: Node, aws: Path, **changed: Any) -> None:
    node.publish(ParallelClusterHook.ON_NODE_CONFIGURED, **changed)
    shutil.rmtree(aws / "s3", ignore_errors=True)
    shutil.copytree(node.bundle, aws / "s3/scripts/demo", ignore=shutil.ignore_patterns("__pycache__"))
    (node.root / "fetched").mkdir(exist_ok=True)
    shutil.copyfile(node.bundle / SCRIPT, node.root / "fetched" / SCRIPT)
    shutil.rmtree(node.bundle)


def is_a(node: Node, cfnconfig: str, host_name: str = "") -> None:
    path = node.root / "etc/parallelcluster/cfnconfig"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(cfnconfig)
    path = node.root / "proc/sys/kernel/hostname"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{host_name}\n")


def digest(aws: Path) -> str:
    return hashlib.sha256((aws / "s3/scripts/demo/SHA256SUMS").read_bytes()).hexdigest()


def run(node: Node, aws: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = node.environment() | {"PATH": f"{aws}/bin:{os.environ['PATH']}", "FAKE_AWS": str(aws)}
    return subprocess.run(
        ["bash", str(node.root / "fetched" / SCRIPT), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


ROOT = "s3://scripts/bundles/demo/train"
BUNDLE = f"{ROOT}/{'c' * 16}-{'d' * 16}"


def point_to(aws: Path, text: str) -> None:
    pointer = aws / "s3" / f"{ROOT}/current".removeprefix("s3://")
    pointer.parent.mkdir(parents=True, exist_ok=True)
    pointer.write_text(text)


def publish_below_root(aws: Path) -> None:
    shutil.copytree(aws / "s3/scripts/demo", aws / "s3" / BUNDLE.removeprefix("s3://"))


def start(node: Node, aws: Path, group: str = "trn") -> subprocess.CompletedProcess[str]:
    return run(node, aws, "s3://scripts/demo", digest(aws), group)


def bundles(node: Node) -> list[str]:
    folder = node.root / "opt/llm-fleet/fetched"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_compute_node_downloads_the_bundle_once_and_runs_it(cluster: Node, aws: Path) -> None:
    is_a(cluster, COMPUTE, "trn-dy-trn1-7")
    for _ in range(2):
        ended = start(cluster, aws)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert cluster.report()["hook"] == "OnNodeConfigured"
        assert cluster.report()["node"]["role"] == "Compute"
    assert bundles(cluster) == [digest(aws)]
    assert len((aws / "calls").read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("partition", "region"), [("aws-us-gov", "us-gov-west-1"), ("aws-cn", "cn-north-1"), ("aws", "eu-west-1")]
)
def test_the_bundle_is_downloaded_with_the_nodes_region(cluster: Node, aws: Path, partition: str, region: str) -> None:
    """A request that is signed for another partition is rejected: nodes in GovCloud and China would fail."""
    (aws / "partition").write_text(partition)
    is_a(cluster, COMPUTE.replace("us-west-2", region), "trn-st-trn1-1")
    publish_below_root(aws)
    point_to(aws, f"{BUNDLE} {digest(aws)}\n")
    assert run(cluster, aws, f"{ROOT}/current", "trn").returncode == 0
    calls = [json.loads(line) for line in (aws / "calls").read_text().splitlines()]
    assert [call["region"] for call in calls] == [region, region]


def test_a_node_without_a_region_queries_the_metadata_service(cluster: Node, aws: Path) -> None:
    (aws / "partition").write_text("aws-us-gov")
    (aws / "bin/curl").write_text(METADATA)
    (aws / "bin/curl").chmod(0o755)
    is_a(cluster, COMPUTE.replace("cfn_region=us-west-2\n", ""), "trn-st-trn1-1")
    assert start(cluster, aws).returncode == 0
    (aws / "bin/curl").write_text("#!/bin/sh\nexit 7\n")
    shutil.rmtree(cluster.root / "opt/llm-fleet/fetched")
    ended = start(cluster, aws)
    assert ended.returncode == 38
    assert "Forbidden" in ended.stderr, "without a Region the download is tried, and the error reported"


def test_the_head_node_runs_it_too(cluster: Node, aws: Path) -> None:
    is_a(cluster, HEAD, "ip-10-1-0-5")
    assert start(cluster, aws, "head").returncode == 0
    assert cluster.report()["node"]["role"] == "Controller"


def test_options_are_passed_on(cluster: Node, aws: Path) -> None:
    is_a(cluster, COMPUTE)
    ended = run(cluster, aws, "s3://scripts/demo/", digest(aws), "trn", "--list", "--json")
    assert [[step["name"] for step in wave] for wave in json.loads(ended.stdout)["waves"]] == [["nothing"]]


def test_a_damaged_bundle_on_the_node_is_downloaded_again(cluster: Node, aws: Path) -> None:
    is_a(cluster, COMPUTE)
    start(cluster, aws)
    bundle = cluster.root / "opt/llm-fleet/fetched" / digest(aws)
    (bundle / "enter.sh").write_text("exit 0\n")
    assert start(cluster, aws).returncode == 0
    assert len((bundle / "enter.sh").read_text().splitlines()) > 20


def test_a_killed_download_leaves_no_bundle_and_the_next_one_completes(cluster: Node, aws: Path) -> None:
    is_a(cluster, COMPUTE)
    (aws / "stop.after.one").touch()
    environment = cluster.environment() | {"PATH": f"{aws}/bin:{os.environ['PATH']}", "FAKE_AWS": str(aws)}
    command = ["bash", str(cluster.root / "fetched" / SCRIPT), "s3://scripts/demo", digest(aws), "trn"]
    process = subprocess.Popen(command, env=environment)
    wait_until(lambda: (aws / "stopped").exists() and (aws / "stopped").read_text())
    for pid in (process.pid, int((aws / "stopped").read_text())):
        os.kill(pid, signal.SIGKILL)
    process.wait()
    assert digest(aws) not in bundles(cluster)
    (aws / "stop.after.one").unlink()
    assert start(cluster, aws).returncode == 0
    assert digest(aws) in bundles(cluster)


def test_old_bundles_and_temporary_folders_are_removed(cluster: Node, aws: Path) -> None:
    is_a(cluster, COMPUTE)
    for name, days in (("old", 31), ("young", 2), (".draft.old", 1), (".draft.young", 0)):
        folder = cluster.root / "opt/llm-fleet/fetched" / name
        folder.mkdir(parents=True)
        then = time.time() - days * 86400 - 60
        os.utime(folder, (then, then))
    assert start(cluster, aws).returncode == 0
    assert bundles(cluster) == sorted([".draft.young", "young", digest(aws)])


def test_a_pointer_names_the_last_published_bundle(cluster: Node, aws: Path) -> None:
    is_a(cluster, HEAD, "ip-10-1-0-5")
    publish_below_root(aws)
    point_to(aws, f"{BUNDLE} {digest(aws)}\n")
    for _ in range(2):
        ended = run(cluster, aws, f"{ROOT}/current", "head")
        assert (ended.returncode, ended.stderr) == (0, "")
    assert cluster.report()["node"]["role"] == "Controller"
    assert bundles(cluster) == [digest(aws)]
    requested = [json.loads(call)["source"] for call in (aws / "calls").read_text().splitlines()]
    assert requested == [f"{ROOT}/current", f"{BUNDLE}/", f"{ROOT}/current"]


def test_options_are_passed_on_after_a_pointer(cluster: Node, aws: Path) -> None:
    is_a(cluster, HEAD)
    publish_below_root(aws)
    point_to(aws, f"{BUNDLE} {digest(aws)}\n")
    ended = run(cluster, aws, f"{ROOT}/current", "head", "--list", "--json")
    assert json.loads(ended.stdout)["node"]["group"] == "head"


def test_a_missing_pointer_is_reported(cluster: Node, aws: Path) -> None:
    refused(cluster, run(cluster, aws, f"{ROOT}/current", "head"), "LFN15", f"{ROOT}/current cannot be fetched: fatal")


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "must be one line with a bundle and its digest"),
        (f"{BUNDLE} {'0' * 40}", "must be one line"),
        (f"{BUNDLE}\n{'0' * 64}\n", "must be one line"),
        (f"{BUNDLE} {'0' * 64}\n{BUNDLE} {'1' * 64}\n", "must be one line"),
        ('{"prefix": "x"}\n', "must be one line"),
        (f"s3://other/bundles/demo/train/{'c' * 16}-{'d' * 16} {'0' * 64}\n", "which is not a bundle in"),
        (f"s3://scripts/bundles/demo/other/{'c' * 16}-{'d' * 16} {'0' * 64}\n", "which is not a bundle in"),
        (f"{ROOT}/../other/{'c' * 16}-{'d' * 16} {'0' * 64}\n", "which is not a bundle in"),
        (f"{ROOT} {'0' * 64}\n", "which is not a bundle in"),
    ],
)
def test_an_incomplete_or_foreign_pointer_is_rejected(cluster: Node, aws: Path, text: str, cause: str) -> None:
    point_to(aws, text)
    ended = run(cluster, aws, f"{ROOT}/current", "head")
    refused(cluster, ended, "LFN16", cause)
    assert len((aws / "calls").read_text().splitlines()) == 1


def test_a_pointer_to_a_changed_bundle_is_rejected(cluster: Node, aws: Path) -> None:
    publish_below_root(aws)
    point_to(aws, f"{BUNDLE} {digest(aws)}\n")
    (aws / "s3" / BUNDLE.removeprefix("s3://") / "enter.sh").write_text("exit 0\n")
    refused(cluster, run(cluster, aws, f"{ROOT}/current", "head"), "LFN39", "has no SHA256SUMS")


def test_a_failure_after_the_entry_point_is_on_both_streams_and_in_the_exit_code(cluster: Node, aws: Path) -> None:
    is_a(cluster, COMPUTE.replace("=train", "=other"))
    ended = start(cluster, aws)
    assert ended.returncode == 11
    for stream in (ended.stderr, ended.stdout):
        assert "LFN11  cfnconfig is for the cluster other" in stream


def test_another_bundle_in_s3_is_rejected(cluster: Node, aws: Path) -> None:
    ended = run(cluster, aws, "s3://scripts/demo", "0" * 64, "trn")
    refused(cluster, ended, "LFN39", f"has no SHA256SUMS with the digest {'0' * 64}")


def test_a_changed_file_in_s3_is_rejected(cluster: Node, aws: Path) -> None:
    (aws / "s3/scripts/demo/enter.sh").write_text("exit 0\n")
    refused(cluster, start(cluster, aws), "LFN39", "has no SHA256SUMS")


def test_a_bundle_that_cannot_be_fetched_is_reported(cluster: Node, aws: Path) -> None:
    (aws / "fail.s3").write_text('An error occurred (AccessDenied):\n "not\\yours"')
    ended = start(cluster, aws)
    refused(cluster, ended, "LFN38", "s3://scripts/demo cannot be fetched: An error occurred (AccessDenied)")


def test_a_node_without_the_aws_command_is_reported(cluster: Node, aws: Path) -> None:
    bare = cluster.root / "bare"
    bare.mkdir()
    (aws / "bin/aws").unlink()
    ended = subprocess.run(
        [
            "bash",
            "-c",
            f'command() {{ return 1; }}; . "{cluster.root}/fetched/{SCRIPT}"',
            "-",
            "s3://a/b",
            "0" * 64,
            "trn",
        ],
        env=cluster.environment() | {"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    refused(cluster, ended, "LFN38", "this node has no aws command")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("s3://a/b", "0" * 64),
        ("https://a/b", "0" * 64, "trn"),
        ("s3://a/b", "0" * 63, "trn"),
        ("s3://a/b", "0" * 64, ""),
        ("s3://a/b/current",),
        ("s3://a/b/current", ""),
        ("s3://current", "trn"),
    ],
)
def test_invalid_arguments_are_rejected(cluster: Node, aws: Path, arguments: tuple[str, ...]) -> None:
    refused(cluster, run(cluster, aws, *arguments), "LFN08", "usage: s3://BUCKET/PREFIX")


def refused(node: Node, ended: subprocess.CompletedProcess[str], code: str, cause: str) -> None:
    assert ended.returncode == int(code.removeprefix("LFN"))  # ParallelCluster reports only this
    for stream in (ended.stderr, ended.stdout):  # and does not log the first stream
        assert f"{code}  " in stream
        assert cause in stream
    assert node.report()["code"] == code
    assert node.report()["remedy"]
    assert bundles(node) == []


@pytest.mark.parametrize(
    ("cfnconfig", "host_name", "given", "group"),
    [
        (COMPUTE, "trn-dy-trn1-7", "trn", "trn"),
        (COMPUTE, "", None, "trn"),
        (HEAD, "ip-10-1-0-5", None, "head"),
        ("cfn_node_type=LoginNode\n", "ip-10-1-0-9", None, "entry"),
        ("", "ip-10-1-0-9", "entry", "entry"),
        ("cfn_node_type=ComputeFleet\n", "trn-st-a-b-1.train.pcluster", None, "trn"),
        ("stack_name='train'\ncfn_node_type=\"HeadNode\"\n", "", "head", "head"),
    ],
)
def test_identity_of_the_node(node: Node, cfnconfig: str, host_name: str, given: str | None, group: str) -> None:
    assert whoami(node, cfnconfig, host_name, given).group.name == group


def test_a_queue_can_have_any_type_of_its_capacity_block(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node whose type is that of another group does not belong to that group."""
    node.is_of_type("m5.xlarge")  # of head and entry
    node.publish(ParallelClusterHook.ON_NODE_CONFIGURED)
    document = json.loads((node.bundle / "fleet.json").read_text())
    next(group for group in document["groups"] if group["name"] == "trn")["instance_types"] = []
    (node.bundle / "fleet.json").write_text(json.dumps(document))
    is_a(node, COMPUTE, "trn-st-block-1")
    monkeypatch.setenv("LLM_FLEET_ROOT", str(node.root))
    found = identify(Places.of_this_node(), read(node.bundle), "trn")
    assert (found.group.name, found.instance_type) == ("trn", "ml.m5.xlarge")


def test_the_name_in_slurm_takes_precedence_over_the_host_name(node: Node) -> None:
    """With `Dns/UseEc2Hostnames` the host name is EC2's."""
    path = node.root / "etc/parallelcluster/slurm_plugin/slurm_nodename"
    path.parent.mkdir(parents=True)
    path.write_text("trn-dy-trn1-7\n")
    found = whoami(node, COMPUTE, "ip-10-1-0-12", None)
    assert (found.instance_name, found.group.name) == ("trn-dy-trn1-7", "trn")


def test_a_compute_node_gets_its_head_node_and_type(node: Node) -> None:
    node.is_of_type("trn1.32xlarge")
    found = whoami(node, COMPUTE, "trn-dy-trn1-7", "trn")
    assert (found.controllers, found.instance_type) == (("10.1.0.5",), "ml.trn1.32xlarge")
    assert found.instance_name == "trn-dy-trn1-7"


@pytest.mark.parametrize(
    ("cfnconfig", "host_name", "given", "code", "cause"),
    [
        (COMPUTE, "", "head", "LFN13", "argument --group: it is head"),
        (COMPUTE, "gpu-st-p5-1", "trn", "LFN12", "no group gpu"),
        (COMPUTE, "", "gpu", "LFN12", "no group gpu"),
        (HEAD, "trn-st-trn1-1", None, "LFN13", "host name: trn-st-trn1-1 is in the queue trn"),
        (COMPUTE.replace("=train", "=other"), "", "trn", "LFN11", "cfnconfig is for the cluster other"),
        ("", "", None, "LFN14", "this node could be in the group entry or head or trn"),
        ("", "trn-st-trn1-1", None, "LFN14", "this node could be in the group trn"),
        ("cfn_node_type=Other\n", "", None, "LFN14", "the node type is Other"),
    ],
)
def test_an_ambiguous_identity_is_reported(
    node: Node, cfnconfig: str, host_name: str, given: str | None, code: str, cause: str
) -> None:
    with pytest.raises(Failure) as caught:
        whoami(node, cfnconfig, host_name, given)
    assert (caught.value.code.code, cause in caught.value.cause) == (code, True), caught.value


def whoami(node: Node, cfnconfig: str, host_name: str, given: str | None) -> Identity:
    node.publish(ParallelClusterHook.ON_NODE_CONFIGURED)
    is_a(node, cfnconfig, host_name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLM_FLEET_ROOT", str(node.root))
        places = Places.of_this_node()
    return identify(places, read(node.bundle), given)
