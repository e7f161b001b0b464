"""IAM permissions of nodes by kind of node, and grants."""

import json
import re
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template

from llm_fleet import Downloads, LoginPool, NodeReports, ParallelCluster, S3Mount, SharedStorage
from llm_fleet.catalog.network import regions
from llm_fleet.catalog.parallelcluster import parallelcluster_limits
from llm_fleet.parallelcluster.cluster_bundle import policy_name
from tests.parallelcluster.conftest import Make

LOGIN = LoginPool(name="login", instance_type="m5.large")
KEY = "arn:aws:kms:us-west-2:111122223333:key/0123abcd-0000-4000-8000-000000000000"
PRINCIPAL: Any = iam.AccountPrincipal("111122223333")
KINDS = ("head", "queues", "login")


def documents(stack: cdk.Stack) -> dict[str, list[dict[str, Any]]]:
    """The statements of each policy of nodes, by the last part of its name."""
    found = Template.from_stack(stack).find_resources("AWS::IAM::ManagedPolicy").values()
    named = {str(body["Properties"].get("ManagedPolicyName", "")): body["Properties"] for body in found}
    return {
        name.split("-")[-1]: properties["PolicyDocument"]["Statement"]
        for name, properties in named.items()
        if name.split("-")[-1] in KINDS
    }


def ids(statements: list[dict[str, Any]]) -> list[str]:
    return [statement["Sid"] for statement in statements]


def test_each_kind_of_nodes_has_a_policy_and_session_manager(stack: cdk.Stack, make: Make):
    cluster = make(login_pools=[LOGIN])
    configuration = stack.resolve(dict(cluster.configuration))
    parts = [
        configuration["HeadNode"],
        configuration["Scheduling"]["SlurmQueues"][0],
        configuration["LoginNodes"]["Pools"][0],
    ]
    named = Template.from_stack(stack).find_resources("AWS::IAM::ManagedPolicy")
    for part, kind in zip(parts, KINDS, strict=True):
        sessions, own = (policy["Policy"] for policy in part["Iam"]["AdditionalIamPolicies"])
        assert sessions == "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
        name = named[own["Ref"]]["Properties"]["ManagedPolicyName"]
        assert name == f"parallelcluster-us-west-2-{cluster.cluster_name}-{kind}"
    assert set(documents(stack)) == set(KINDS)


def test_the_longest_policy_names_are_valid(app: cdk.App):
    """IAM allows 128 characters."""
    longest = max(regions(), key=len)
    there = cdk.Stack(app, "There", env=cdk.Environment(account="111122223333", region=longest))
    name = policy_name(there, "c" * (parallelcluster_limits().cluster_name.maximum or 0), "provider")
    assert re.fullmatch(r"[\w+=,.@-]{1,128}", name)


def test_default_permissions_of_nodes(stack: cdk.Stack, make: Make):
    cluster = make(login_pools=[LOGIN])
    for statements in documents(stack).values():
        assert ids(statements) == ["BundleList", "BundleObjects", "ReportsObjects", "FailureMetric", "FailureEvent"]
        bundle = statements[1]["Resource"]["Fn::Join"][1][-1]
        reports = statements[2]["Resource"]["Fn::Join"][1][-1]
        assert bundle == f"/bundles/train/{cluster.cluster_name}/*"
        assert reports == f"/reports/train/{cluster.cluster_name}/*"


def test_nodes_without_reports_have_no_permissions_for_them(stack: cdk.Stack, make: Make):
    make(reports=NodeReports.NONE)
    assert ids(documents(stack)["queues"]) == ["BundleList", "BundleObjects"]


def test_without_scripts_there_is_no_policy_and_no_bucket(stack: cdk.Stack, make: Make):
    cluster = make(scripts=None)
    template = Template.from_stack(stack)
    for kind in ("AWS::S3::Bucket", "AWS::IAM::ManagedPolicy", "Custom::LlmFleetBundle"):
        assert not template.find_resources(kind)
    assert "CustomActions" not in str(cluster.configuration)
    with pytest.raises(Exception, match="no policy to add to"):
        s3.Bucket.from_bucket_name(stack, "Data", "data").grant_read(cluster)


def test_only_nodes_that_mount_a_bucket_can_read_it(stack: cdk.Stack, make: Make):
    data = s3.Bucket.from_bucket_name(stack, "Data", "research-data")
    make(login_pools=[LOGIN], s3_mounts=[S3Mount(bucket=data, mount_path="/s3/data", prefix="in", groups=["trn1"])])
    with_data = {kind for kind, found in documents(stack).items() if "research-data" in str(found)}
    assert with_data == {"queues"}
    assert "arn:aws:s3:::research-data/in/*" in str(documents(stack)["queues"])


def test_all_nodes_can_access_data_buckets_and_the_mirror(stack: cdk.Stack, make: Make, tmp_path: Any):
    key = kms.Key.from_key_arn(stack, "Key", KEY)
    read = s3.Bucket.from_bucket_attributes(stack, "Read", bucket_name="reading", encryption_key=key)
    write = s3.Bucket.from_bucket_name(stack, "Write", "writing")
    make(login_pools=[LOGIN], read_buckets=[read], write_buckets=[write])
    for statements in documents(stack).values():
        assert {"Read1Objects", "Read1Key", "Write1Objects"} <= set(ids(statements))
        by_id = {statement["Sid"]: statement for statement in statements}
        assert by_id["Read1Objects"]["Action"] == "s3:GetObject"
        assert "s3:PutObject" in by_id["Write1Objects"]["Action"]


def test_the_head_node_can_attach_volumes_and_read_custom_scripts(stack: cdk.Stack, make: Make):
    make(
        shared_storage=[SharedStorage.managed_ebs("apps", mount_dir="/apps", size_gib=50, settings={"KmsKeyId": KEY})],
        overrides={},
    )
    found = documents(stack)
    assert {"StorageKeys", "StorageKeysGrants"} <= set(ids(found["head"]))
    assert "StorageKeys" not in ids(found["queues"])


def test_a_grant_to_the_cluster_is_for_all_nodes(stack: cdk.Stack, make: Make):
    cluster = make(login_pools=[LOGIN])
    key: Any = kms.Key(stack, "Key")
    bucket = s3.Bucket(stack, "Checkpoints", encryption_key=key)
    grant = bucket.grant_read_write(cluster)
    assert grant.success
    for statements in documents(stack).values():
        assert "s3:PutObject" in str(statements)
        assert "kms:GenerateDataKey*" in str(statements)


def test_sessions_are_allowed_to_this_cluster_only(stack: cdk.Stack, make: Make):
    engineers = iam.Role(stack, "Engineers", assumed_by=PRINCIPAL)
    cluster = make()
    assert cluster.grants.ssm_session(engineers).success
    (policy,) = Template.from_stack(stack).find_resources("AWS::IAM::Policy").values()
    start, document, own = policy["Properties"]["PolicyDocument"]["Statement"]
    assert start == {
        "Effect": "Allow",
        "Action": "ssm:StartSession",
        "Resource": "arn:aws:ec2:us-west-2:111122223333:instance/*",
        "Condition": {"StringEquals": {"ssm:resourceTag/parallelcluster:cluster-name": cluster.cluster_name}},
    }
    assert document["Resource"] == "arn:aws:ssm:us-west-2:111122223333:document/SSM-SessionManagerRunShell"
    assert own["Resource"] == "arn:aws:ssm:us-west-2:111122223333:session/${aws:userid}-*"


def test_sessions_to_an_existing_cluster(stack: cdk.Stack):
    engineers = iam.Role(stack, "Engineers", assumed_by=PRINCIPAL)
    known = ParallelCluster.from_cluster_name(stack, "Old", "train-01234567")
    known.grants.ssm_session(engineers, documents=["arn:aws:ssm:us-west-2::document/AWS-StartPortForwardingSession"])
    (policy,) = Template.from_stack(stack).find_resources("AWS::IAM::Policy").values()
    text = str(policy["Properties"]["PolicyDocument"])
    assert "train-01234567" in text
    assert "AWS-StartPortForwardingSession" in text


def test_jobs_can_be_submitted_to_this_cluster_only(stack: cdk.Stack):
    engineers = iam.Role(stack, "Engineers", assumed_by=PRINCIPAL)
    known = ParallelCluster.from_cluster_name(stack, "Old", "train-01234567")
    assert known.grants.submit_jobs(engineers).success
    (policy,) = Template.from_stack(stack).find_resources("AWS::IAM::Policy").values()
    start, document, _, find = policy["Properties"]["PolicyDocument"]["Statement"]
    assert "train-01234567" in str(start["Condition"])
    assert document["Resource"] == "arn:aws:ssm:us-west-2::document/AWS-StartNonInteractiveCommand"
    assert (find["Action"], find["Resource"]) == ("ec2:DescribeInstances", "*")


def test_nodes_can_read_the_mirror(stack: cdk.Stack, make: Make, tmp_path: Path):
    lock = tmp_path / "lock.json"
    lock.write_text(json.dumps({"schema_version": 1, "files": []}))
    mirror = s3.Bucket.from_bucket_name(stack, "Mirror", "mirror")
    make(downloads=Downloads(lock=lock, mirror=mirror, prefix="packages"))
    assert "MirrorObjects" in ids(documents(stack)["queues"])
