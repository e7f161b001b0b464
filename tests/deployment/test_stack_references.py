"""Stacks that hold one another, deployed to a local emulation in the order of the CDK CLI."""

from collections.abc import Generator
from pathlib import Path

import aws_cdk as cdk
import pytest
from botocore.exceptions import ClientError

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet_local.aws.client import LocalAws
from llm_fleet_stacks.fleet_stacks import FleetStacks
from tools.synth_environment import cdk_context

pytestmark = pytest.mark.usefixtures("few_scripts")

TRAIN = """
  train:
    kind: hyperpod
    groups:
      controller: {role: controller, type: ml.m5.xlarge, count: 1}
      workers: {role: compute, type: ml.trn1.32xlarge, count: 1, partition: trn1}
"""
FLEET = (
    """
fleet: held
region: us-west-2
network: {az: usw2-az4}
storage: {fsx: {size: 1200 GiB}, buckets: {data: {}}}
clusters:
"""
    + TRAIN
)
ADDITIONAL = TRAIN.replace("train:", "probe:")
NOTEBOOK = "notebooks: {desk: {instance: ml.t3.medium, buckets: [data]}}\n"


@pytest.fixture(scope="module")
def aws() -> Generator[LocalAws]:
    with LocalAws(region="us-west-2") as aws:
        aws.bootstrap()
        yield aws


def assembly(folder: Path, text: str) -> Path:
    app = cdk.App(context=cdk_context(), outdir=str(folder))
    FleetStacks.make(app, parse_fleet(text), account="123456789012")
    app.synth()
    return folder


def file_systems(aws: LocalAws) -> list[str]:
    return [one["FileSystemId"] for one in aws.client("fsx").describe_file_systems()["FileSystems"]]


def test_an_importing_stack_can_be_deleted_and_an_exporting_one_cannot(aws: LocalAws, tmp_path: Path) -> None:
    plain = assembly(tmp_path / "plain", FLEET)
    assert aws.deploy(plain).succeeded
    report = aws.deploy(assembly(tmp_path / "more", FLEET + ADDITIONAL + NOTEBOOK))
    assert report.succeeded, report
    assert {stack.name for stack in report.stacks if stack.changed} == {"held-probe", "held-desk"}
    # Taken out of the file, their stacks stay until they are destroyed: nothing of what they are on goes meanwhile.
    assert not aws.deploy(plain).changed
    for name in ("held-desk", "held-probe"):
        aws.client("cloudformation").delete_stack(StackName=name)
        aws.client("cloudformation").get_waiter("stack_delete_complete").wait(StackName=name, WaiterConfig={"Delay": 1})
    assert not aws.deploy(plain).changed


def test_a_file_system_in_use_is_not_replaced_under_a_cluster(aws: LocalAws, tmp_path: Path) -> None:
    """`KmsKeyId` is create-only. With weak references the cluster would go on with the old one, which is kept."""
    assert aws.deploy(assembly(tmp_path / "plain", FLEET)).succeeded
    (before,) = file_systems(aws)
    key = aws.client("kms").create_key()["KeyMetadata"]["Arn"]
    report = aws.deploy(assembly(tmp_path / "key", FLEET.replace("size: 1200 GiB", f"size: 1200 GiB, key: '{key}'")))
    (failed,) = [stack for stack in report.stacks if not stack.succeeded]
    assert (failed.name, failed.status) == ("held-storage", "UPDATE_ROLLBACK_COMPLETE")
    events = aws.client("cloudformation").describe_stack_events(StackName="held-storage")["StackEvents"]
    assert "in use by held-train" in "".join(event.get("ResourceStatusReason", "") for event in events)
    (copy,) = [one["PhysicalResourceId"] for one in events if one["ResourceStatus"] == "DELETE_SKIPPED"]
    assert sorted(file_systems(aws)) == sorted([before, copy]), "the new one is made first and retained"
    aws.client("fsx").delete_file_system(FileSystemId=copy)
    assert file_systems(aws) == [before]


def test_a_file_system_is_taken_out_from_its_users_first(aws: LocalAws, tmp_path: Path) -> None:
    assert aws.deploy(assembly(tmp_path / "plain", FLEET)).succeeded
    without = assembly(tmp_path / "without", FLEET.replace("fsx: {size: 1200 GiB}, ", ""))
    assert [stack.name for stack in aws.deploy(without).stacks if not stack.succeeded] == ["held-storage"]
    assert aws.deploy(without, only=["held-train"]).succeeded
    assert aws.deploy(without).succeeded
    assert len(file_systems(aws)) == 1, "it is kept"


def test_stacks_that_others_use_are_protected_from_deletion(aws: LocalAws, tmp_path: Path) -> None:
    plain = assembly(tmp_path / "plain", FLEET)
    assert aws.deploy(plain).succeeded
    client = aws.client("cloudformation")
    with pytest.raises(ClientError, match="cannot be deleted while TerminationProtection is enabled"):
        client.delete_stack(StackName="held-network")
    off = assembly(tmp_path / "off", FLEET + "termination_protection: false\n")
    assert not aws.deploy(off).changed, "the CLI takes it off without an update"
    client.delete_stack(StackName="held-network")
    while (found := client.describe_stacks(StackName="held-network")["Stacks"][0])["StackStatus"] != "DELETE_FAILED":
        pass
    assert "as it is in use by held-storage" in found["StackStatusReason"]
    assert aws.destroy(off).succeeded


def test_destroying_a_protected_fleet_ends_at_its_storage(aws: LocalAws, tmp_path: Path) -> None:
    plain = assembly(tmp_path / "plain", FLEET)
    assert aws.deploy(plain).succeeded
    *done, refused = aws.destroy(plain).stacks
    assert [stack.name for stack in done] == ["held-train"]
    assert refused.name == "held-storage"
    assert "TerminationProtection" in "".join(refused.failures)
    assert aws.destroy(plain, unprotect=True).succeeded


def test_a_network_gets_additional_azs_while_clusters_use_it(aws: LocalAws, tmp_path: Path) -> None:
    def subnets() -> dict[str, str]:
        found = aws.client("ec2").describe_subnets()["Subnets"]
        mine = [one for one in found if {"Key": "fleet", "Value": "grows"} in one.get("Tags", [])]
        return {one["CidrBlock"]: one["SubnetId"] for one in mine}

    text = FLEET.replace("fleet: held", "fleet: grows\ntags: {fleet: grows}")
    seen: list[dict[str, str]] = []
    for zones in ("usw2-az4", "usw2-az4, usw2-az2", "usw2-az4, usw2-az2, usw2-az1"):
        more = text.replace("{az: usw2-az4}", f"{{azs: [{zones}]}}")
        report = aws.deploy(assembly(tmp_path / str(len(seen)), more))
        assert report.succeeded, report
        seen.append(subnets())
    assert [len(one) for one in seen] == [3, 6, 9]
    assert seen[0].items() < seen[1].items() < seen[2].items()
    # To change the order moves subnets, and EC2 takes no new one that overlaps one that is there still.
    turned = text.replace("{az: usw2-az4}", "{azs: [usw2-az2, usw2-az4, usw2-az1]}")
    report = aws.deploy(assembly(tmp_path / "turned", turned))
    assert not report.succeeded
    assert "conflicts with another subnet" in str(report)
    assert subnets() == seen[2]
