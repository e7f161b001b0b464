"""What a deployment would take from the users of a fleet, told from templates alone."""

from collections.abc import Mapping
from typing import Any

import pytest

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.plan.deployed_stacks import DeployedStacks
from llm_fleet.cli.plan.difference_section import difference_section
from llm_fleet.cli.plan.losses import losses
from llm_fleet.cli.plan.stack_template import StackTemplate
from llm_fleet.cli.plan.template_changes import template_changes
from llm_fleet.cli.terminal.screen import Screen

WIDE = Screen(width=None, colour=False, live=False)
FILES, CLUSTER = "AWS::FSx::FileSystem", "AWS::SageMaker::Cluster"
BALANCER = "AWS::ElasticLoadBalancingV2::LoadBalancer"


def stack(kind: str, *, keeps: bool = False, **properties: Any) -> StackTemplate:
    policies = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"} if keeps else {}
    return template({"One": {"Type": kind, "Properties": properties, **policies}})


def template(resources: Mapping[str, Any]) -> StackTemplate:
    return StackTemplate(name="s", region=None, resources=resources, paths={})


def said(old: StackTemplate, new: StackTemplate) -> list[tuple[str, str]]:
    return [(one.code, one.what) for one in losses({"s": old}, [new], template_changes(old, new))]


@pytest.mark.parametrize(
    ("old", "new", "code", "words"),
    [
        (stack(FILES, KmsKeyId="a"), stack(FILES, KmsKeyId="b"), "LF1086", "is replaced: the new one is empty, and"),
        (stack(FILES, KmsKeyId="a"), stack(FILES, keeps=True, KmsKeyId="b"), "LF1086", "the former one stays, with"),
        (stack(FILES), template({}), "LF1086", "the file system is deleted, with what it holds"),
        (stack(FILES, keeps=True), template({}), "LF1086", "the file system leaves the stack and stays"),
        (stack(CLUSTER, VpcConfig="a"), stack(CLUSTER, VpcConfig="b"), "LF1087", "Slurm's queue and the jobs that run"),
        (stack(CLUSTER), template({}), "LF1087", "the cluster is deleted, with its nodes"),
        (stack("Custom::PclusterCluster"), template({}), "LF1087", "the cluster is deleted, with its nodes"),
        (stack(BALANCER, Scheme="a"), stack(BALANCER, Scheme="b"), "LF1089", "another DNS name"),
    ],
)
def test_what_is_lost_or_left_behind(old: StackTemplate, new: StackTemplate, code: str, words: str) -> None:
    ((told, what),) = said(old, new)
    assert told == code
    assert words in what


def test_what_may_be_replaced_and_what_changes_in_place() -> None:
    (one,) = said(stack("AWS::RDS::DBCluster", Engine="a"), stack("AWS::RDS::DBCluster", Engine="b"))
    assert one[1].startswith("the database may be replaced")
    instance = "AWS::RDS::DBInstance"
    (one,) = said(stack(instance, KmsKeyId="a"), stack(instance, KmsKeyId="b"))
    assert one[1].startswith("the database is replaced")
    old, new = (stack("AWS::RDS::DBInstance", DBClusterIdentifier="c", KmsKeyId=key) for key in "ab")
    assert said(old, new) == [], "the data is the cluster's"
    assert said(stack(FILES, StorageCapacity=1), stack(FILES, StorageCapacity=2)) == []


def test_plan_shows_them_with_their_codes() -> None:
    deployed = DeployedStacks(AwsClients(region="us-west-2"), [])
    deployed.found["s"] = stack(FILES, FileSystemType="LUSTRE", StorageCapacity=4800)
    section = difference_section([template({})], deployed)
    assert "One: the file system is deleted, with what it holds [LF1086]" in section.text(WIDE)
    assert [one["code"] for one in section.data["losses"]] == ["LF1086"]
    smaller = stack(FILES, FileSystemType="LUSTRE", StorageCapacity=2400)
    section = difference_section([smaller], deployed)
    assert "FSx takes no storage away: from 4800 GiB to 2400 GiB [LF1088]" in section.text(WIDE)
    assert [one["code"] for one in section.data["refused_updates"]] == ["LF1088"]


def test_stacks_that_left_the_file_are_not_known_where_others_are_new() -> None:
    deployed = DeployedStacks(AwsClients(region="us-west-2"), [])
    deployed.found["s"] = stack(FILES)
    renamed = StackTemplate(name="t", region=None, resources={}, paths={})
    text = difference_section([stack(FILES), renamed], deployed).text(WIDE)
    assert "nothing changes in the stacks that are deployed" in text
    assert "stacks that are no longer in the fleet file are not known" in text
