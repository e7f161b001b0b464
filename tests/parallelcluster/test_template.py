"""Templates of ParallelClusters: unchanged, without findings of checkers, and synthesized in time.

The template of a cluster is stable: ids, defaults and, above all, its hash.

A changed hash makes a new cluster for everyone who deploys the next release. `make golden` updates the file; the
difference is then reviewed in the commit.
"""

import json
import os
import re
from pathlib import Path
from time import process_time
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk.assertions import Template

from examples import strangers_parallelcluster
from llm_fleet import (
    Accounting,
    ClusterUser,
    FleetNetwork,
    HeadNode,
    LoginPool,
    LustreFileSystem,
    LustreSpec,
    NetworkSpec,
    OpenZfsFileSystem,
    ParallelCluster,
    ParallelClusterSpec,
    Queue,
    S3Mount,
    SharedStorage,
)
from llm_fleet.parallelcluster.render_configuration import render_configuration
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.configuration import check_configuration
from llm_fleet.rules.parallelcluster.parallelcluster import check_parallelcluster
from llm_fleet.rules.problem import Problem
from tests.clean import Finder, annotation_findings, cfn_lint_findings, nag_findings
from tests.conftest import ENVIRONMENT
from tools.bench.fifty_queues import MANY, many_queues

GOLDEN = Path(__file__).parent / "golden" / "strangers-parallelcluster.json"
# Hashes of node scripts, which have their own tests.
HASH = re.compile(r"\b[0-9a-f]{64}\b")


def test_the_template_of_a_cluster_is_unchanged(app: cdk.App):
    stack = strangers_parallelcluster.ResearchStack(app, "Research", env=ENVIRONMENT)
    template = Template.from_stack(stack).to_json()
    own = {section: _of_cluster(template[section]) for section in ("Resources", "Outputs")}
    text = HASH.sub("<hash>", json.dumps(own, indent=1)) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text(), "the template has changed: read the difference, then run `make golden`"


def _of_cluster(section: dict[str, object]) -> dict[str, object]:
    return {name: body for name, body in section.items() if name.startswith("Train")}


LINKED = {"DataRepositoryAssociations": [{"Name": "a", "DataRepositoryPath": "s3://corpus", "FileSystemPath": "/a"}]}


@pytest.fixture
def everything(stack: cdk.Stack) -> cdk.Stack:
    """A cluster with most settings, and all resources next to it."""
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4", "usw2-az1"]))
    key = kms.Key(stack, "Key", enable_key_rotation=True)
    data = s3.Bucket.from_bucket_name(stack, "Data", "research-data")
    munge = secretsmanager.Secret.from_secret_complete_arn(
        stack, "Munge", "arn:aws:secretsmanager:us-west-2:111122223333:secret:munge-abcdef"
    )
    cluster = ParallelCluster(
        stack,
        "Train",
        ParallelClusterSpec(
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
            permissions_boundary=iam.ManagedPolicy.from_managed_policy_name(stack, "Boundary", "research-boundary"),
            tags={"team": "llm"},
            accounting=Accounting(slurmdbd_host="slurmdbd.example.com", munge_key_secret=munge),
            users=[ClusterUser(name="ada", uid=2001)],
            s3_mounts=[S3Mount(bucket=data, mount_path="/s3/data", prefix="tokenized", groups=["trn1"])],
        ),
        network=network,
        lustre=LustreFileSystem(
            stack, "Fsx", LustreSpec(storage_capacity_gib=4800, metadata_iops=12000), network=network
        ),
        open_zfs=OpenZfsFileSystem(stack, "Home", network=network),
        write_buckets=[data],
    )
    cluster.add_outputs()
    return stack


# All checkers check the examples in tests/stacks; these three check the resources of this cluster.
@pytest.mark.parametrize("finder", [annotation_findings, cfn_lint_findings, nag_findings])
def test_no_checker_finds_anything(app: cdk.App, everything: cdk.Stack, finder: Finder) -> None:
    assert finder(app) == []


ROUNDS = 3
SECONDS = 1.0
"""The documented maximum, with synth, which `make bench` includes. The test measures CPU time, of which it takes a
quarter, so that other work on the machine does not count."""


def made_and_rendered() -> tuple[float, list[Problem], list[Problem], dict[str, Any]]:
    """Return the CPU seconds, the problems of the rules and of the schema, and the configuration."""
    start = process_time()
    cluster = many_queues()
    problems = check_parallelcluster(cluster)
    configuration = render_configuration(cluster)
    mistakes = check_configuration(configuration)
    return process_time() - start, problems, mistakes, configuration


def test_fifty_queues_of_fifty_compute_resources_are_fast() -> None:
    rounds = [made_and_rendered() for _ in range(ROUNDS)]
    # The minimum, not the median: other work on the machine can only add time.
    assert min(seconds for seconds, *_ in rounds) < SECONDS
    _, problems, mistakes, configuration = rounds[0]
    assert {problem.code for problem in problems} == {Code.PC_RESOURCE_NUMBER}, "the limit is 50 in a cluster"
    assert {problem.code for problem in mistakes} == {Code.PC_KEY_MISSING}, "no subnet is known"
    rendered = configuration["Scheduling"]["SlurmQueues"]
    assert [len(queue["ComputeResources"]) for queue in rendered] == [MANY] * MANY
