"""What a cluster with most of what there is synthesizes passes the checkers that a careful user would run."""

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager

from llm_fleet import (
    Accounting,
    ClusterUser,
    FleetNetwork,
    HeadNode,
    LoginPool,
    LustreFileSystem,
    LustreSpec,
    OpenZfsFileSystem,
    ParallelCluster,
    Queue,
    S3Mount,
    SharedStorage,
)
from tests.clean import Finder, annotation_findings, cfn_lint_findings, nag_findings

LINKED = {"DataRepositoryAssociations": [{"Name": "a", "DataRepositoryPath": "s3://corpus", "FileSystemPath": "/a"}]}


@pytest.fixture
def everything(stack: cdk.Stack) -> cdk.Stack:
    """A cluster with most of what there is, beside all its neighbours."""
    network = FleetNetwork(stack, "Network", availability_zone_ids=["usw2-az4", "usw2-az1"])
    key = kms.Key(stack, "Key", enable_key_rotation=True)
    data = s3.Bucket.from_bucket_name(stack, "Data", "research-data")
    munge = secretsmanager.Secret.from_secret_complete_arn(
        stack, "Munge", "arn:aws:secretsmanager:us-west-2:111122223333:secret:munge-abcdef"
    )
    cluster = ParallelCluster(
        stack,
        "Train",
        network=network,
        lustre=LustreFileSystem(
            stack, "Fsx", LustreSpec(storage_capacity_gib=4800, metadata_iops=12000), network=network
        ),
        open_zfs=OpenZfsFileSystem(stack, "Home", network=network),
        shared_storage=[
            SharedStorage.managed_ebs("apps", mount_dir="/apps", size_gib=200, settings={"KmsKeyId": key.key_arn}),
            SharedStorage.managed_lustre("corpus", mount_dir="/corpus", capacity_gib=1200, settings=LINKED),
        ],
        head_node=HeadNode(instance_type="m5.2xlarge"),
        queues=[
            Queue.trainium("trn1", max_count=4),
            Queue.cpu("cpu", instance_type="c5.4xlarge", max_count=4, availability_zone_id="usw2-az1"),
        ],
        login_pools=[LoginPool(name="login", instance_type="m5.large")],
        accounting=Accounting.slurmdbd("slurmdbd.example.com", munge_key_secret=munge),
        users=[ClusterUser(name="ada", uid=2001)],
        s3_mounts=[S3Mount(bucket=data, mount_path="/s3/data", prefix="tokenized", groups=["trn1"])],
        write_buckets=[data],
        permissions_boundary=iam.ManagedPolicy.from_managed_policy_name(stack, "Boundary", "research-boundary"),
        tags={"team": "llm"},
    )
    cluster.add_outputs()
    return stack


# All checkers go over the examples, in tests/stacks; these three look at what only this cluster has.
@pytest.mark.parametrize("finder", [annotation_findings, cfn_lint_findings, nag_findings])
def test_no_checker_finds_anything(app: cdk.App, everything: cdk.Stack, finder: Finder) -> None:
    assert finder(app) == []
