"""Each check over a whole assembly finds the mistake that is planted, and nothing once it is gone."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.assembly.assembly import Assembly, Json
from tests.assembly.checks import (
    EVERY_CHECK,
    consumers_skipped,
    names_twice,
    replaced,
    rules_twice,
    undeletable,
    ways_out_lost,
)

WEAK = {"Fn::GetStackOutput": {"StackName": "net", "OutputName": "Group", "Region": "us-west-2"}}
STRONG = {"Fn::ImportValue": "net:Group"}
RULE: Json = {"IpProtocol": "tcp", "FromPort": 3306, "ToPort": 3306}


def resource(kind: str, /, *, policy: str = "", depends: tuple[str, ...] = (), **properties: Any) -> Json:
    made: Json = {"Type": f"AWS::{kind}", "Properties": properties}
    return made | ({"DeletionPolicy": policy} if policy else {}) | ({"DependsOn": list(depends)} if depends else {})


def net(**more: Json) -> Json:
    """A stack with a VPC and a group, which it exports."""
    return {
        "Resources": {
            "Vpc": resource("EC2::VPC", CidrBlock="10.0.0.0/16"),
            "Group": resource("EC2::SecurityGroup", VpcId={"Ref": "Vpc"}, SecurityGroupEgress=[]),
        }
        | more,
        "Outputs": {"Group": {"Value": {"Fn::GetAtt": ["Group", "GroupId"]}, "Export": {"Name": "net:Group"}}},
    }


def assembly(**stacks: Json) -> Assembly:
    return Assembly(
        templates={name: body if "Resources" in body else {"Resources": body} for name, body in stacks.items()}
    )


def rule(group: Any, peer: Any, **more: Any) -> Json:
    return {"Rule": resource("EC2::SecurityGroupIngress", GroupId=group, SourceSecurityGroupId=peer, **RULE, **more)}


def outward(group: Any, **more: Any) -> Json:
    return {"Out": resource("EC2::SecurityGroupEgress", GroupId=group, IpProtocol="-1", **more)}


LOG = {"Log": resource("Logs::LogGroup", LogGroupName={"Fn::Join": ["-", ["logs", {"Ref": "AWS::Region"}]]})}
PLANTED: dict[str, tuple[Callable[[Assembly], list[str]], Assembly, str]] = {
    "the same rule of two stacks, by ids": (
        rules_twice,
        assembly(a=rule("sg-1", "sg-2"), b=rule("sg-1", "sg-2", Description="another")),
        "a.Rule, b.Rule",
    ),
    "the same rule by a weak and a strong reference": (
        rules_twice,
        assembly(net=net(), a=rule("sg-1", WEAK), b=rule("sg-1", STRONG)),
        "a.Rule, b.Rule",
    ),
    "a rule that the group itself has": (
        rules_twice,
        assembly(
            net=net(Own=resource("EC2::SecurityGroup", SecurityGroupIngress=[RULE | {"CidrIp": "10.0.0.0/8"}])),
            a={
                "Rule": resource(
                    "EC2::SecurityGroupIngress", GroupId={"Fn::ImportValue": "net:Own"}, CidrIp="10.0.0.0/8", **RULE
                )
            },
        ),
        "net.Own, a.Rule",
    ),
    "a rule outward on a group that lets everything out": (
        ways_out_lost,
        assembly(net={"Group": resource("EC2::SecurityGroup"), **outward({"Ref": "Group"}, CidrIp="10.0.0.0/8")}),
        "net.Group: net.Out",
    ),
    "a rule outward on an existing group": (
        ways_out_lost,
        assembly(net=outward("sg-1", CidrIp="10.0.0.0/8")),
        "sg-1: net.Out",
    ),
    "one name of two stacks": (
        names_twice,
        assembly(a=LOG, b=LOG),
        "a.Log, b.Log",
    ),
    "one export of two stacks": (names_twice, assembly(net=net(), other=net()), "net.Group, other.Group"),
    "a value of a stack that is deployed later": (
        undeletable,
        assembly(a=rule("sg-1", STRONG), net=net()),
        "a takes a value of net",
    ),
    "a retained group in a deleted VPC": (
        undeletable,
        assembly(
            net={
                "Vpc": resource("EC2::VPC"),
                "Group": resource("EC2::SecurityGroup", policy="Retain", VpcId={"Ref": "Vpc"}),
            }
        ),
        "net.Group is retained and holds net.Vpc",
    ),
    "a retained subnet in a block that is deleted": (
        undeletable,
        assembly(
            net={
                "Block": resource("EC2::VPCCidrBlock"),
                "Subnet": resource("EC2::Subnet", policy="RetainExceptOnCreate", depends=("Block",)),
            }
        ),
        "net.Subnet is retained and holds net.Block",
    ),
    "a retained file system in another stack's group": (
        undeletable,
        assembly(net=net(), a={"Fsx": resource("FSx::FileSystem", policy="Retain", SecurityGroupIds=[STRONG])}),
        "a.Fsx is retained and holds net.Group",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found(name: str) -> None:
    check, planted, words = PLANTED[name]
    if "the group itself has" in name:
        outputs = planted.templates["net"]["Outputs"]
        outputs["Own"] = {"Value": {"Fn::GetAtt": ["Own", "GroupId"]}, "Export": {"Name": "net:Own"}}
    (found,) = check(planted)
    assert words in found


def test_nothing_is_found_where_nothing_is_planted() -> None:
    good = assembly(
        net=net(),
        a=rule("sg-1", STRONG) | outward(STRONG, DestinationSecurityGroupId="sg-1"),
        b=rule("sg-2", WEAK),
    )
    assert [found for check in EVERY_CHECK for found in check(good)] == []


@pytest.mark.parametrize(
    ("reference", "skipped"),
    [(WEAK, ["a keeps the value that net had of net.Group"]), (STRONG, [])],
    ids=["weak", "strong, which CloudFormation refuses"],
)
def test_a_consumer_that_goes_on_with_the_old_value_is_found(reference: Json, skipped: list[str]) -> None:
    before = assembly(net=net(), a=rule("sg-1", reference))
    after = assembly(net=net(Vpc=resource("EC2::VPC", CidrBlock="10.9.0.0/16")), a=rule("sg-1", reference))
    assert replaced(before, after) == {"net.Vpc", "net.Group"}, "a group is replaced with its VPC"
    assert consumers_skipped(before, after) == skipped
    assert consumers_skipped(before, before) == []
    told = assembly(net=after.templates["net"], a=rule("sg-1", reference, Description="of the new VPC"))
    assert consumers_skipped(before, told) == []
