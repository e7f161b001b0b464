"""Checks of existing networks, file systems, buckets, images, models and secrets."""

import json
import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import pytest

from llm_fleet_local.aws.client import LocalAws
from tests.cli.check.conftest import TRN1, Check
from tests.pains.reported import reported

_EXISTING = """
fleet: mine
region: us-west-2
network:
  vpc:
    id: {vpc}
    subnets: {{{zone}: {subnet}}}
    security_group: {group}
storage:
  fsx:
    existing: {{id: {fsx}, mount_name: abcd1234, az: {zone}}}
clusters:
  train:
    kind: hyperpod
    groups:
      controller: {{role: controller, type: ml.m5.xlarge, count: 1}}
      trn1: {{role: compute, type: ml.trn1.32xlarge, count: 4, partition: trn1}}
"""


@dataclass(frozen=True, slots=True)
class Network:
    """An existing VPC with a /27, without routes, and a file system that does not allow the nodes' security group."""

    vpc: str
    subnet: str
    zone: str
    group: str
    fsx: str
    server: str

    @property
    def fleet(self) -> str:
        return _EXISTING.format(vpc=self.vpc, subnet=self.subnet, zone=self.zone, group=self.group, fsx=self.fsx)


@pytest.fixture(scope="module")
def network(aws: LocalAws) -> Generator[Network]:
    ec2, fsx = aws.client("ec2"), aws.client("fsx")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/27", AvailabilityZoneId="usw2-az4")["Subnet"]
    group = ec2.create_security_group(VpcId=vpc, GroupName="nodes", Description="nodes")["GroupId"]
    server = ec2.create_security_group(VpcId=vpc, GroupName="fsx", Description="fsx")["GroupId"]
    own: list[dict[str, Any]] = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": server}]}]
    ec2.authorize_security_group_ingress(GroupId=server, IpPermissions=own)
    made = fsx.create_file_system(
        FileSystemType="LUSTRE",
        StorageCapacity=1200,
        SubnetIds=[subnet["SubnetId"]],
        SecurityGroupIds=[server],
        LustreConfiguration={"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250},
    )["FileSystem"]
    yield Network(vpc, subnet["SubnetId"], "usw2-az4", group, made["FileSystemId"], server)
    fsx.delete_file_system(FileSystemId=made["FileSystemId"])


def test_rules_addresses_and_endpoints_of_an_existing_network_are_reported(check: Check, network: Network):
    checked = check(network.fleet, "--json", "--only", "network")
    assert checked.code == 1
    addresses = checked.only(f"addresses of {network.subnet}")
    assert "free addresses, but the fleet requires 41" in addresses["message"]
    assert "32 for 4 x ml.trn1.32xlarge (train/trn1)" in addresses["message"]
    ways = checked.rows["routes and endpoints of the subnets"]
    assert "endpoints only" in ways["detail"]
    assert "no interface endpoint for ssm, ssmmessages" in ways["problems"][0]["message"]
    assert "no route to an S3 gateway endpoint" in ways["problems"][1]["message"]


def test_efa_rules_are_fixed_by_the_remedy(check: Check, network: Network, aws: LocalAws):
    row = check(network.fleet, "--json", "--only", "network").rows[f"EFA rules of {network.group}"]
    assert [problem["code"] for problem in row["problems"]] == ["LF1036", "LF1036"]
    message = row["problems"][0]["message"]
    reported(9, message, "so EFA does not work, and nodes fail their health check about 20 minutes into the deployment")
    rule: list[dict[str, Any]] = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": network.group}]}]
    for problem, side in zip(row["problems"], ("ingress", "egress"), strict=True):
        assert f"aws ec2 authorize-security-group-{side} --group-id {network.group}" in problem["remedy"]
        getattr(aws.client("ec2"), f"authorize_security_group_{side}")(GroupId=network.group, IpPermissions=rule)
    repaired = check(network.fleet, "--json", "--only", "network").rows[f"EFA rules of {network.group}"]
    assert repaired["detail"] == "allows all traffic from and to itself"


def test_a_file_system_is_compared_with_the_fleet_file(check: Check, network: Network):
    checked = check(network.fleet, "--json", "--only", "storage")
    problem = checked.only(f"file system {network.fsx}")
    assert problem["where"] == "storage.fsx.existing.mount_name"
    assert problem["remedy"].startswith("write `mount_name: ")
    messages = [one["message"] for one in checked.rows[f"ports of {network.fsx}"]["problems"]]
    assert any("allow TCP 988 from" in message for message in messages)
    assert any("allow TCP 1018-1023 from" in message for message in messages)


def test_existing_rules_are_reported_unless_the_fleets_stacks_created_them(
    check: Check, network: Network, aws: LocalAws
) -> None:
    ec2, cloudformation = aws.client("ec2"), aws.client("cloudformation")
    text = network.fleet.replace("mount_name:", f"security_group: {network.server}, mount_name:")

    def row() -> dict[str, Any]:
        return check(text, "--json", "--only", "network").rows["security group rules to add"]

    assert (row()["verdict"], row()["detail"]) == ("good", "4 rules for 2 security groups")
    one = {"GroupId": network.server, "SourceSecurityGroupId": network.group, "IpProtocol": "tcp"}
    rule = {"Type": "AWS::EC2::SecurityGroupIngress", "Properties": one | {"FromPort": 988, "ToPort": 988}}
    cloudformation.create_stack(
        StackName="mine-storage", TemplateBody=json.dumps({"Resources": {"Rule": rule}}), OnFailure="DO_NOTHING"
    )
    cloudformation.get_waiter("stack_create_complete").wait(StackName="mine-storage", WaiterConfig={"Delay": 1})
    assert row()["verdict"] == "good", "deployed by this fleet"
    cloudformation.delete_stack(StackName="mine-storage")
    cloudformation.get_waiter("stack_delete_complete").wait(StackName="mine-storage", WaiterConfig={"Delay": 1})
    pairs = [(network.server, network.group), (network.group, network.server)]
    for group, peer in pairs:
        for first, last in ((988, 988), (1018, 1023)):
            (problem,) = row()["problems"] or [None]
            assert problem is None or "revoke-security-group-ingress" in problem["remedy"]
            whom = [{"GroupId": peer, "Description": "by hand"}]
            by_hand = {"IpProtocol": "tcp", "FromPort": first, "ToPort": last, "UserIdGroupPairs": whom}
            ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[by_hand])
    (problem,) = row()["problems"]
    assert (problem["code"], problem["where"]) == ("LF1056", "storage.fsx.existing.security_group")
    assert problem["remedy"] == "remove `security_group`: the rules exist already"
    left_out = check(network.fleet, "--json", "--only", "network", "--only", "storage")
    assert "security group rules to add" not in left_out.rows
    assert left_out.rows[f"ports of {network.fsx}"]["verdict"] == "good"


def test_missing_resources_are_reported(check: Check, network: Network):
    text = network.fleet
    for thing in (network.vpc, network.subnet, network.group, network.fsx):
        text = text.replace(thing, f"{thing.split('-')[0]}-0123456789abcdef9")
    checked = check(text, "--json", "--only", "network", "--only", "storage")
    messages = [problem["message"] for row in checked.rows.values() for problem in row["problems"]]
    for kind in ("VPC", "subnet", "security group", "file system"):
        assert any(re.match(f"the {kind} .* does not exist", message) for message in messages), kind


_BUCKETS = """
storage:
  fsx: {size: 1200 GiB, import: s3://far-away}
  buckets:
    models: {name: taken-already}
    data: {name: nobody-has-this}
"""


def test_existing_buckets_must_be_in_the_region_and_names_of_new_ones_free(check: Check, aws: LocalAws):
    elsewhere: dict[str, Any] = {"LocationConstraint": "eu-west-1"}
    aws.client("s3", "eu-west-1").create_bucket(Bucket="far-away", CreateBucketConfiguration=elsewhere)
    aws.client("s3", "eu-west-1").create_bucket(Bucket="taken-already", CreateBucketConfiguration=elsewhere)
    mounts = "\n    s3_mounts: [{bucket: 's3://not-there', mount: /corpus}]"
    checked = check(TRN1.rstrip() + mounts + _BUCKETS, "--json", "--only", "storage")
    assert checked.only("bucket far-away")["message"] == (
        "the bucket far-away, which FSx mirrors, is in eu-west-1, and must be in us-west-2"
    )
    assert "the bucket not-there, which nodes mount, does not exist" in checked.only("bucket not-there")["message"]
    assert "already in use" in checked.only("name of the new bucket taken-already")["message"]
    assert checked.rows["name of the new bucket nobody-has-this"]["verdict"] == "good"


def test_an_image_of_another_account_is_reported(check: Check):
    image = "ami-03cf127a"  # It is of an account of AWS, and exists in every Region of the emulator.
    text = TRN1.replace("count: 4", f"count: 4, image: {image}")
    messages = [
        one["message"]
        for one in check(text, "--json", "--only", "images").rows[f"image {image} of train/trn1"]["problems"]
    ]
    assert any("HyperPod supports only images of the cluster's account" in message for message in messages)


@pytest.mark.parametrize("place", ["storage.key", "network.existing.key"])
def test_a_key_must_be_enabled_before_the_deployment(check: Check, aws: LocalAws, place: str):
    kms = aws.client("kms")
    made = kms.create_key()["KeyMetadata"]
    text = TRN1.replace("clusters:", f"storage: {{key: {made['Arn']}}}\nclusters:")
    if place.startswith("network"):
        text = TRN1.replace("usw2-az4}", f"usw2-az4, existing: {{vpc: vpc-0123456789abcdef0, key: {made['Arn']}}}}}")
    question, words = f"KMS key {made['Arn']}", ("--json", "--only", place.partition(".")[0])
    assert check(text, *words).rows[question]["verdict"] == "good"
    kms.schedule_key_deletion(KeyId=made["KeyId"])
    problem = check(text, *words).only(question)
    assert (problem["code"], problem["where"]) == ("LF1060", place)
    assert f"cancel-key-deletion --key-id {made['KeyId']} --region us-west-2" in problem["remedy"]
    missing = "00000000-0000-0000-0000-000000000000"
    problem = check(text.replace(made["KeyId"], missing), *words).only(question.replace(made["KeyId"], missing))
    assert "does not exist" in problem["message"]


_SERVICE = """
fleet: chat
region: us-west-2
network: {{azs: [usw2-az1, usw2-az2]}}
services:
  chat:
    model: {model}
    instance: inf2.xlarge
    front: {{http: true}}
"""


def test_a_model_must_be_in_its_prefix(check: Check, aws: LocalAws):
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="my-models", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    s3.put_object(Bucket="my-models", Key="tanuki-8b-2/config.json", Body=b"{}")
    text = _SERVICE.format(model="s3://my-models/tanuki-8b")
    assert (
        "there is nothing in that folder"
        in check(text, "--json", "--only", "models").only("model s3://my-models/tanuki-8b")["message"]
    )
    s3.put_object(Bucket="my-models", Key="tanuki-8b/config.json", Body=b"{}")
    assert check(text, "--only", "models").code == 0
