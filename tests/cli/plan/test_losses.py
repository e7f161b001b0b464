"""Data and resources that a deployment would delete, replace or leave behind, from templates alone."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from llm_fleet.cli.clients import AwsClients
from llm_fleet.cli.plan.stack_templates import DeployedStacks, StackTemplate
from llm_fleet.cli.plan.template_changes import losses, template_changes
from llm_fleet.cli.plan.whole_plan import difference_section
from llm_fleet.cli.screen import Screen
from tests.cli.canned_account import CannedAccount

WIDE = Screen(width=None, color=False, live=False)
FILES, CLUSTER = "AWS::FSx::FileSystem", "AWS::SageMaker::Cluster"
KEY, PROFILE, DATABASE = "AWS::KMS::Key", "AWS::SageMaker::UserProfile", "AWS::RDS::DBCluster"
BALANCER = "AWS::ElasticLoadBalancingV2::LoadBalancer"


def stack(kind: str, *, keeps: bool = False, policy: str = "", **properties: Any) -> StackTemplate:
    chosen = "Retain" if keeps else policy
    policies = {"DeletionPolicy": chosen, "UpdateReplacePolicy": chosen} if chosen else {}
    return template({"One": {"Type": kind, "Properties": properties, **policies}})


def template(resources: Mapping[str, Any]) -> StackTemplate:
    return StackTemplate(name="s", region=None, resources=resources, paths={})


def said(old: StackTemplate, new: StackTemplate) -> list[tuple[str, str]]:
    return [(one.code, one.what) for one in losses({"s": old}, [new], template_changes(old, new))]


@pytest.mark.parametrize(
    ("old", "new", "code", "words"),
    [
        (stack(FILES, KmsKeyId="a"), stack(FILES, KmsKeyId="b"), "LF1086", "is replaced: the new one is empty, and"),
        (
            stack(FILES, KmsKeyId="a"),
            stack(FILES, keeps=True, KmsKeyId="b"),
            "LF1086",
            "the old one is retained with its data",
        ),
        (stack(FILES), template({}), "LF1086", "the file system is deleted, with its data"),
        (stack(FILES, keeps=True), template({}), "LF1086", "the file system is removed from the stack and retained"),
        (stack(CLUSTER, VpcConfig="a"), stack(CLUSTER, VpcConfig="b"), "LF1087", "Slurm's queue and running jobs"),
        (stack(CLUSTER), template({}), "LF1087", "the cluster is deleted, with its nodes"),
        (stack("Custom::PclusterCluster"), template({}), "LF1087", "the cluster is deleted, with its nodes"),
        (stack(BALANCER, Scheme="a"), stack(BALANCER, Scheme="b"), "LF1089", "another DNS name"),
        (
            stack(KEY),
            template({}),
            "LF1086",
            "is deleted after 30 days; until then CancelKeyDeletion",
        ),
        (stack(KEY, PendingWindowInDays=7), template({}), "LF1086", "is deleted after 7 days"),
        (
            stack(PROFILE),
            template({}),
            "LF1086",
            "unless it still has spaces or applications: then SageMaker rejects this",
        ),
        (stack(DATABASE), template({}), "LF1086", "is deleted; a snapshot is created first, is kept"),
        (stack(DATABASE, policy="Delete"), template({}), "LF1086", "is deleted, with its data"),
        (
            stack(DATABASE, KmsKeyId="a"),
            stack(DATABASE, policy="Snapshot", KmsKeyId="b"),
            "LF1086",
            "the old one is deleted; a snapshot is created first",
        ),
    ],
)
def test_losses_and_retained_resources_are_reported(
    old: StackTemplate, new: StackTemplate, code: str, words: str
) -> None:
    ((reported, what),) = said(old, new)
    assert reported == code
    assert words in what


def test_possible_replacements_and_changes_in_place() -> None:
    (one,) = said(stack("AWS::RDS::DBCluster", Engine="a"), stack("AWS::RDS::DBCluster", Engine="b"))
    assert one[1].startswith("the database may be replaced")
    instance = "AWS::RDS::DBInstance"
    (one,) = said(stack(instance, KmsKeyId="a"), stack(instance, KmsKeyId="b"))
    assert one[1].startswith("the database is replaced")
    old, new = (stack("AWS::RDS::DBInstance", DBClusterIdentifier="c", KmsKeyId=key) for key in "ab")
    assert said(old, new) == [], "the data is the cluster's"
    assert said(stack(FILES, StorageCapacity=1), stack(FILES, StorageCapacity=2)) == []


def test_the_plan_shows_losses_with_their_codes() -> None:
    deployed = DeployedStacks(AwsClients(region="us-west-2"), [])
    deployed.found["s"] = stack(FILES, FileSystemType="LUSTRE", StorageCapacity=4800)
    section = difference_section([template({})], deployed)
    assert "One: the file system is deleted, with its data [LF1086]" in section.text(WIDE)
    assert [one["code"] for one in section.data["losses"]] == ["LF1086"]
    smaller = stack(FILES, FileSystemType="LUSTRE", StorageCapacity=2400)
    section = difference_section([smaller], deployed)
    assert "FSx does not reduce the storage capacity: from 4800 GiB to 2400 GiB [LF1088]" in section.text(WIDE)
    assert [one["code"] for one in section.data["refused_updates"]] == ["LF1088"]


@pytest.mark.parametrize(
    ("kind", "before", "after", "words"),
    [
        (
            FILES,
            {"KmsKeyId": "a"},
            {"KmsKeyId": "b"},
            "look for an empty second file system and delete it: it costs money",
        ),
        (
            "AWS::EC2::Subnet",
            {"CidrBlock": "10.1.0.0/17"},
            {"CidrBlock": "10.2.0.0/17"},
            "look for a second resource of the type AWS::EC2::Subnet and delete it [LF1088]",
        ),
    ],
)
def test_a_second_copy_from_an_earlier_attempt_is_reported(kind: str, before: Any, after: Any, words: str) -> None:
    def made(properties: Mapping[str, Any]) -> StackTemplate:
        export = {"Value": {"Ref": "One"}, "Export": {"Name": "s:One"}}
        resources = {"One": {"Type": kind, "Properties": properties, "UpdateReplacePolicy": "Retain"}}
        return StackTemplate(name="s", region=None, resources=resources, paths={}, outputs={"One": export})

    topic = {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": {"Fn::ImportValue": "s:One"}}}
    train = StackTemplate(name="train", region=None, resources={"Job": topic}, paths={})
    deployed = DeployedStacks(AwsClients(region="us-west-2"), [])
    deployed.found.update({"s": made(before), "train": train})
    text = difference_section([made(after), train], deployed).text(WIDE)
    assert f"If this update was tried already, {words}" in text


def listed(name: str, number: int, *, description: str = "Some stack (llm-fleet)", **more: str) -> dict[str, Any]:
    created = datetime(2026, 11, number, tzinfo=UTC)
    reported = {"StackName": name, "CreationTime": created, "StackStatus": "UPDATE_COMPLETE"}
    return reported | {"TemplateDescription": description} | more


def deployed_of(fleet: str, *stacks: str) -> DeployedStacks:
    return DeployedStacks(AwsClients(region="us-west-2"), stacks, fleet=fleet)


def test_removed_stacks_are_listed_with_the_command_that_deletes_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    account = CannedAccount(
        {
            "GetTemplate": {"TemplateBody": "{}"},
            "ListStacks": {
                "StackSummaries": [
                    listed("train-storage", 1),
                    listed("train-database", 2),
                    listed("train-old", 3),
                    listed("train-two-storage", 4),
                    listed("train-two-a", 5),
                    listed("train-of-others", 6, description="A stack"),
                    listed("train-q", 7, StackStatus="DELETE_COMPLETE"),
                    listed("train-q", 8, StackStatus="REVIEW_IN_PROGRESS"),
                ]
            },
        }
    )
    account.lives(monkeypatch)
    deployed = deployed_of("train", "train-storage")
    assert [one.name for one in deployed.left] == ["train-old", "train-database"], "the importing stack is first"
    assert deployed_of("train-two", "train-two-storage").left[0].name == "train-two-a"
    same = StackTemplate(name="train-storage", region=None, resources={}, paths={})
    section = difference_section([same], deployed)
    text = section.text(WIDE)
    assert "the other stacks do not change" in text
    assert "train-old is deployed, but no longer in the fleet file" in text
    command = "aws cloudformation delete-stack --region us-west-2 --stack-name train-old"
    assert f"`{command}` [LF1090]" in text
    assert section.data["left_stacks"][0] == {"code": "LF1090", "name": "train-old", "destroy": command}


def test_a_denied_list_of_stacks_leaves_the_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    account = CannedAccount({"GetTemplate": {"TemplateBody": "{}"}})
    account.lives(monkeypatch).refuses("ListStacks", code="AccessDenied")
    deployed = deployed_of("train", "train-storage")
    same = StackTemplate(name="train-storage", region=None, resources={}, paths={})
    section = difference_section([same], deployed)
    assert "the deployed stacks do not change" in section.text(WIDE)
    assert "deployed stacks that are no longer in the fleet file could not be listed" in section.text(WIDE)
    assert section.data["refused"].code.value.startswith("LF100"), "the command ends with 3"
    assert section.data["not_known"] == []


def test_a_retained_subnet_is_reported_with_its_block() -> None:
    deployed = DeployedStacks(AwsClients(region="us-west-2"), [])
    deployed.found["s"] = stack("AWS::EC2::Subnet", keeps=True, CidrBlock="10.1.128.0/18")
    text = difference_section([template({})], deployed).text(WIDE)
    assert "One: the subnet is removed from the stack and retained with its CIDR block 10.1.128.0/18" in text
    assert "InvalidSubnet.Conflict" in text
