"""A fleet's life in a local emulation: deployed again, changed, destroyed."""

import shutil
from pathlib import Path

import pytest

from llm_fleet.lifecycle import lifecycle_bundle
from local_aws.client import LocalAws
from tests.deployment.conftest import synthesize
from tests.deployment.fleet_on_aws import FleetOnAws
from tools.synth_environment import ROOT


def test_deploying_again_changes_nothing(aws: LocalAws, tmp_path: Path):
    aws.deploy(synthesize(tmp_path / "first"))
    again = aws.deploy(synthesize(tmp_path / "second"))
    assert again.succeeded
    assert not again.changed, again


def test_a_changed_script_moves_the_bundle_and_updates_the_cluster(
    aws: LocalAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assembly = synthesize(tmp_path / "first")
    assert aws.deploy(assembly).succeeded
    fleet = FleetOnAws(aws, assembly)
    arn, (bucket, old_prefix) = fleet.cluster["ClusterArn"], fleet.bundle

    scripts = tmp_path / "scripts"
    shutil.copytree(ROOT / "lifecycle_scripts", scripts, ignore=shutil.ignore_patterns("__pycache__"))
    entry = scripts / "on_init_complete.sh"
    entry.write_text(entry.read_text() + "# changed\n")
    monkeypatch.setattr(lifecycle_bundle, "default_folder", lambda: scripts)
    report = aws.deploy(synthesize(tmp_path / "second"))

    assert {stack.name for stack in report.stacks if stack.changed} == {"launch-post-ml-cluster"}
    assert fleet.cluster["ClusterArn"] == arn, "the cluster was replaced, not updated"
    assert fleet.bundle != (bucket, old_prefix)
    assert fleet.bundle_object("on_init_complete.sh").endswith(b"# changed\n")
    assert aws.client("s3").head_object(Bucket=bucket, Key=f"{old_prefix}/on_init_complete.sh"), "the old one is gone"


def test_a_scaled_group_is_scaled_in_place(aws: LocalAws, tmp_path: Path):
    assembly = synthesize(tmp_path / "first")
    aws.deploy(assembly)
    fleet = FleetOnAws(aws, assembly)
    arn = fleet.cluster["ClusterArn"]
    larger = tmp_path / "larger.yaml"
    text = (ROOT / "examples" / "hyperpod-trn1.yaml").read_text()
    assert "count: 4" in text
    larger.write_text(text.replace("count: 4", "count: 6"))
    assert aws.deploy(synthesize(tmp_path / "second", larger)).succeeded
    assert (fleet.cluster["ClusterArn"], fleet.group("worker-group")["TargetCount"]) == (arn, 6)


def test_destroy_leaves_only_what_is_retained(aws: LocalAws, tmp_path: Path):
    before = _everything(aws)
    assembly = synthesize(tmp_path / "cdk.out")
    aws.deploy(assembly)
    report = aws.destroy(assembly)
    assert report.succeeded, report
    left = {kind: sorted(set(found) - set(before[kind])) for kind, found in _everything(aws).items()}
    # The file system, and what its network interfaces stand in; buckets and flow logs, and the keys that read them.
    expected = {
        "file systems": 1, "buckets": 2, "keys": 2, "VPCs": 1, "subnets": 1, "security groups": 3,
        "clusters": 0, "roles": 0, "functions": 0, "NAT gateways": 0, "endpoints": 0, "internet gateways": 0,
        "addresses": 0, "log groups": 1, "flow logs": 0,
    }  # fmt: skip
    assert {kind: len(found) for kind, found in left.items()} == expected, left


def _everything(aws: LocalAws) -> dict[str, list[str]]:
    """The names of everything that costs money or stands in the way."""
    ec2, kms = aws.client("ec2"), aws.client("kms")
    nat = ec2.describe_nat_gateways(Filters=[{"Name": "state", "Values": ["available"]}])["NatGateways"]
    endpoints = ec2.describe_vpc_endpoints()["VpcEndpoints"]
    keys = [kms.describe_key(KeyId=key["KeyId"])["KeyMetadata"] for key in kms.list_keys()["Keys"]]
    return {
        "file systems": [f["FileSystemId"] for f in aws.client("fsx").describe_file_systems()["FileSystems"]],
        "buckets": [b["Name"] for b in aws.client("s3").list_buckets()["Buckets"]],
        "keys": [k["KeyId"] for k in keys if k["KeyManager"] == "CUSTOMER" and k["KeyState"] == "Enabled"],
        "VPCs": [v["VpcId"] for v in ec2.describe_vpcs()["Vpcs"]],
        "subnets": [s["SubnetId"] for s in ec2.describe_subnets()["Subnets"]],
        "security groups": [g["GroupId"] for g in ec2.describe_security_groups()["SecurityGroups"]],
        "clusters": [c["ClusterName"] for c in aws.client("sagemaker").list_clusters()["ClusterSummaries"]],
        "roles": [r["RoleName"] for r in aws.client("iam").list_roles()["Roles"]],
        "functions": [f["FunctionName"] for f in aws.client("lambda").list_functions()["Functions"]],
        "NAT gateways": [n["NatGatewayId"] for n in nat],
        "endpoints": [e["VpcEndpointId"] for e in endpoints if e["State"] != "deleted"],
        "internet gateways": [g["InternetGatewayId"] for g in ec2.describe_internet_gateways()["InternetGateways"]],
        "addresses": [a["AllocationId"] for a in ec2.describe_addresses()["Addresses"]],
        "log groups": [g["logGroupName"] for g in aws.client("logs").describe_log_groups()["logGroups"]],
        "flow logs": [f["FlowLogId"] for f in ec2.describe_flow_logs()["FlowLogs"]],
    }
