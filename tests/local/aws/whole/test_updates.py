"""Updates of emulated resources: what they keep and remove, and their rollback."""

import json
from typing import Any

import pytest

from llm_fleet_local.aws.client import LocalAws
from tests.local.aws.whole.stacks import Stacks, get_att, ref, resource

VPC = resource("AWS::EC2::VPC", CidrBlock="10.0.0.0/16")
ALL = ("-1", "0.0.0.0/0")


@pytest.fixture
def stacks(aws: LocalAws) -> Stacks:
    return Stacks(aws)


def rule(port: Any) -> dict[str, Any]:
    return {"IpProtocol": "tcp", "FromPort": port, "ToPort": port, "CidrIp": "10.0.0.0/8"}


def group(**properties: Any) -> dict[str, Any]:
    made = resource("AWS::EC2::SecurityGroup", GroupDescription="d", VpcId=ref("Vpc"), **properties)
    return {"Vpc": VPC, "Group": made}


def rules(stacks: Stacks, stack: str, side: str = "IpPermissions") -> list[tuple[Any, ...]]:
    group_id = stacks.physical_id(stack, "Group")
    [found] = stacks.client("ec2").describe_security_groups(GroupIds=[group_id])["SecurityGroups"]
    return sorted(
        (one.get("FromPort", one["IpProtocol"]), address["CidrIp"])
        for one in found[side]
        for address in one["IpRanges"]
    )


def test_the_default_egress_rule_is_removed_with_the_first_own_rule_and_not_restored(stacks: Stacks) -> None:
    """As on the page about AWS::EC2::SecurityGroup: after all own egress rules are removed, there is none."""
    assert stacks.create("egress", group()) == "CREATE_COMPLETE"
    assert rules(stacks, "egress", "IpPermissionsEgress") == [ALL]
    assert stacks.update("egress", group(SecurityGroupEgress=[rule(443)])) == "UPDATE_COMPLETE"
    assert rules(stacks, "egress", "IpPermissionsEgress") == [(443, "10.0.0.0/8")]
    assert stacks.update("egress", group()) == "UPDATE_COMPLETE"
    assert rules(stacks, "egress", "IpPermissionsEgress") == []
    everything = {"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}
    assert stacks.update("egress", group(SecurityGroupEgress=[everything])) == "UPDATE_COMPLETE"
    assert rules(stacks, "egress", "IpPermissionsEgress") == [ALL]


@pytest.mark.parametrize("wrong", [rule({"Fn::Join": ["", ["abc"]]}), rule(1) | {"CidrIp": "10.0.0.300/8"}])
def test_a_rejected_update_is_rolled_back_at_any_stage(stacks: Stacks, wrong: dict[str, Any]) -> None:
    name = "rejected-" + ("early" if isinstance(wrong["FromPort"], dict) else "late")
    stacks.create(name, group(SecurityGroupIngress=[rule(22), rule(80)]))
    after = stacks.update(name, group(SecurityGroupIngress=[rule(22), rule(443), wrong], SecurityGroupEgress=[rule(1)]))
    assert after == "UPDATE_ROLLBACK_COMPLETE", stacks.failures(name)
    assert rules(stacks, name) == [(22, "10.0.0.0/8"), (80, "10.0.0.0/8")]
    assert rules(stacks, name, "IpPermissionsEgress") == [ALL]


def test_a_change_set_predicts_replacements_also_in_nested_properties(stacks: Stacks) -> None:
    def template(cidr: str, throughput: int = 250, kind: str = "PERSISTENT_2") -> dict[str, Any]:
        lustre = {"DeploymentType": kind, "PerUnitStorageThroughput": throughput}
        opened = [{"IpProtocol": "tcp", "FromPort": 988, "ToPort": 988, "CidrIp": "10.0.0.0/16"}]
        return {
            **group(SecurityGroupIngress=opened),
            "Subnet": resource("AWS::EC2::Subnet", VpcId=ref("Vpc"), CidrBlock=cidr),
            "Fsx": resource(
                "AWS::FSx::FileSystem",
                FileSystemType="LUSTRE",
                StorageCapacity=1200,
                SubnetIds=[ref("Subnet")],
                SecurityGroupIds=[ref("Group")],
                LustreConfiguration=lustre,
            ),
        }

    assert stacks.create("foretold", template("10.0.0.0/24")) == "CREATE_COMPLETE", stacks.failures("foretold")
    assert stacks.replacements("foretold", template("10.0.0.0/24", 500)) == {"Fsx": "False"}
    assert stacks.replacements("foretold", template("10.0.0.0/24", kind="PERSISTENT_1")) == {"Fsx": "True"}
    assert stacks.replacements("foretold", template("10.0.1.0/24")) == {"Subnet": "True", "Fsx": "Conditional"}


def test_a_replaced_permission_is_removed(stacks: Stacks) -> None:
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}

    def template(principal: str) -> dict[str, Any]:
        code = {"ZipFile": "def handler(event, context): pass"}
        policy = {"Version": "2012-10-17", "Statement": [trust]}
        return {
            "Role": resource("AWS::IAM::Role", AssumeRolePolicyDocument=policy),
            "Function": resource(
                "AWS::Lambda::Function", Role=get_att("Role", "Arn"), Runtime="python3.12", Handler="index.handler",
                Code=code,
            ),
            "May": resource(
                "AWS::Lambda::Permission", FunctionName=ref("Function"), Action="lambda:InvokeFunction",
                Principal=principal,
            ),
        }  # fmt: skip

    stacks.create("permission", template("s3.amazonaws.com"))
    before = stacks.physical_id("permission", "May")
    assert stacks.update("permission", template("sns.amazonaws.com")) == "UPDATE_COMPLETE"
    assert stacks.physical_id("permission", "May") != before
    name = stacks.physical_id("permission", "Function")
    policy = json.loads(stacks.client("lambda").get_policy(FunctionName=name)["Policy"])
    assert [one["Principal"]["Service"] for one in policy["Statement"]] == ["sns.amazonaws.com"]


@pytest.mark.parametrize("way", ["Ingress", "Egress"])
def test_the_description_of_a_rule_changes_in_place(stacks: Stacks, way: str) -> None:
    """The schema has no create-only property of this name, and EC2 has an operation for it."""
    name = f"described-{way.lower()}"

    def described(words: str) -> dict[str, Any]:
        own = resource(f"AWS::EC2::SecurityGroup{way}", GroupId=ref("Group"), Description=words, **rule(443))
        return {**group(SecurityGroupEgress=[rule(1)]), "Rule": own}

    assert stacks.create(name, described("one")) == "CREATE_COMPLETE", stacks.failures(name)
    before = stacks.physical_id(name, "Rule")
    assert stacks.update(name, described("two")) == "UPDATE_COMPLETE", stacks.failures(name)
    assert stacks.physical_id(name, "Rule") == before
    found = stacks.client("ec2").describe_security_group_rules(SecurityGroupRuleIds=[before])["SecurityGroupRules"]
    assert [one["Description"] for one in found] == ["two"]


def test_an_update_of_immutable_key_properties_fails(stacks: Stacks) -> None:
    """The schema: "the update request fails … This prevents you from accidentally deleting a KMS key"."""
    policy: dict[str, Any] = {"Version": "2012-10-17", "Statement": []}

    def key(**properties: Any) -> dict[str, Any]:
        return {"Key": resource("AWS::KMS::Key", KeyPolicy=policy, **properties)}

    assert stacks.create("key", key()) == "CREATE_COMPLETE"
    before = stacks.physical_id("key", "Key")
    assert stacks.update("key", key(MultiRegion=True)) == "UPDATE_ROLLBACK_COMPLETE"
    assert stacks.physical_id("key", "Key") == before


def test_a_secure_string_is_not_read_into_a_template(stacks: Stacks) -> None:
    stacks.client("ssm").put_parameter(Name="/secret", Type="SecureString", Value="hidden")
    topic = resource("AWS::SNS::Topic", DisplayName="{{resolve:ssm:/secret}}")
    assert stacks.create("Secret", {"Topic": topic}) == "ROLLBACK_COMPLETE"
    assert "have types not supported by CloudFormation" in stacks.failures("Secret")
