"""The whole process: synthesized, published by the function into moto's S3, copied as by HyperPod, run."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import boto3
import pytest
from aws_cdk.assertions import Template
from moto import mock_aws

from llm_fleet.lifecycle.lifecycle_bundle import LifecycleBucket, LifecycleBundle
from llm_fleet.lifecycle.node_manifest import NodeManifest
from llm_fleet.lifecycle.publisher.handler import Request, publish
from llm_fleet.rules.terms import NodeType
from llm_fleet.spec.cluster import NodeGroup, NodeMount

ASSETS, TARGET = "assets", "sagemaker-demo-0a1b2c3d"


def test_a_node_runs_the_synthesized_scripts(
    app: cdk.App, stack: cdk.Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = NodeManifest(
        fleet_name="demo",
        region=stack.region,
        cluster_name="train",
        groups=[NodeGroup(name="head", role=NodeType.CONTROLLER, instance_types=["ml.m5.xlarge"])],
        mounts=[NodeMount(kind="lustre", dns_name=cdk.Fn.ref("Dns"), mount_name="abcdefgh", mount_path="/fsx")],
    )
    cdk.CfnParameter(stack, "Dns")
    bundle = LifecycleBundle(
        stack, "Bundle", bucket=LifecycleBucket(stack, "Bucket", name_part="demo").bucket, manifest=manifest
    )
    copied = _deploy(app, stack, tmp_path / "tmp", monkeypatch)

    written = json.loads((copied / "fleet.json").read_text())
    assert written["content_hash"] == bundle.content_hash
    assert written["mounts"][0]["dns_name"] == "fs-1.example"
    ended = _start(copied, tmp_path / "root")
    assert ended.returncode == 0, ended.stderr
    listed = json.loads(ended.stdout)
    assert (listed["bundle"], listed["node"]["group"]) == (bundle.content_hash, "head")


def _deploy(app: cdk.App, stack: cdk.Stack, to: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Do what CloudFormation, the function and HyperPod do; return the folder on the node."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    (resource,) = Template.from_stack(stack).find_resources("Custom::LlmFleetBundle").values()
    properties = {name: _filled_in(value) for name, value in resource["Properties"].items()}
    with mock_aws():
        s3 = boto3.client("s3", region_name="us-east-1")
        for bucket in (ASSETS, TARGET):
            s3.create_bucket(Bucket=bucket)
        archive = Path(app.outdir, f"asset.{properties['SourceKey']}").read_bytes()
        s3.put_object(Bucket=ASSETS, Key=properties["SourceKey"], Body=archive)
        prefix = publish(s3, Request.read(properties | {"SourceBucket": ASSETS, "Bucket": TARGET})).prefix
        for item in s3.list_objects_v2(Bucket=TARGET, Prefix=prefix).get("Contents", []):
            path = to / item.get("Key", "")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(s3.get_object(Bucket=TARGET, Key=item.get("Key", ""))["Body"].read())
    return to / prefix


def _filled_in(value: Any) -> str:
    """Return `value` as CloudFormation passes it to the function, as far as the test requires it."""
    match value:
        case {"Fn::Join": [str(delimiter), parts]}:
            return delimiter.join(map(_filled_in, parts))
        case {"Ref": "Dns"}:
            return "fs-1.example"
        case str():
            return value
        case _:
            return "(not needed here)"


def _start(bundle: Path, root: Path) -> subprocess.CompletedProcess[str]:
    """Start the controller's script as HyperPod does, in a dry run, because this machine is not a node."""
    (root / "opt/ml/config").mkdir(parents=True)
    (root / "proc/net").mkdir(parents=True)
    (root / "proc/net/fib_trie").write_text("     |-- 10.1.0.5\n        /32 host LOCAL\n")
    config = {
        "ClusterConfig": {"ClusterName": "train", "SlurmConfig": {"PrimaryControllerIp": "10.1.0.5"}},
        "InstanceGroups": [{"Name": "head", "Instances": [{"InstanceId": "i-1", "CustomerIpAddress": "10.1.0.5"}]}],
    }
    (root / "opt/ml/config/resource_config.json").write_text(json.dumps(config))
    environment = {"PATH": os.environ["PATH"], "LLM_FLEET_ROOT": str(root), "LLM_FLEET_PYTHON": sys.executable}
    return subprocess.run(
        ["bash", str(bundle / "on_init_complete.sh"), "--list", "--json"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
