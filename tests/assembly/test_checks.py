"""Each check of an assembly finds the error that a test adds, and nothing without it."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.assembly.assembly import Assembly, Json
from tests.assembly.checks import (
    EVERY_CHECK,
    names_twice,
    replaced,
    rules_twice,
    undeletable,
    ways_out_lost,
    weak_references,
)
from tests.assembly.silent_errors import (
    images_not_pulled,
    images_of_other_regions,
    roles_of_other_services,
    short_names_in_alarms,
)

WEAK = {"Fn::GetStackOutput": {"StackName": "net", "OutputName": "Group", "Region": "us-west-2"}}
STRONG = {"Fn::ImportValue": "net:Group"}
RULE: Json = {"IpProtocol": "tcp", "FromPort": 3306, "ToPort": 3306}


def resource(kind: str, /, *, policy: str = "", depends: tuple[str, ...] = (), **properties: Any) -> Json:
    made: Json = {"Type": f"AWS::{kind}", "Properties": properties}
    return made | ({"DeletionPolicy": policy} if policy else {}) | ({"DependsOn": list(depends)} if depends else {})


def net(**more: Json) -> Json:
    """A stack with a VPC, and a group that it exports."""
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


def alarm(**dimensions: Json) -> Json:
    listed = [{"Name": name, "Value": value} for name, value in dimensions.items()]
    metric = {"Namespace": "AWS/ApplicationELB", "MetricName": "UnHealthyHostCount", "Dimensions": listed}
    return {"Alarm": resource("CloudWatch::Alarm", Metrics=[{"Id": "m", "MetricStat": {"Metric": metric}}])}


def acting(kind: str, service: str, *actions: str, **properties: Any) -> Json:
    """A resource of `kind` with its role, which trusts `service` and has a policy that allows `actions`."""
    trust = {"Statement": [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}]}
    may = {"Statement": [{"Effect": "Allow", "Action": list(actions), "Resource": "*"}]}
    return {
        "Role": resource("IAM::Role", AssumeRolePolicyDocument=trust, ManagedPolicyArns=[{"Ref": "May"}]),
        "May": resource("IAM::ManagedPolicy", PolicyDocument=may),
        "Acting": resource(kind, **properties),
    }


PULL = ("ecr:GetAuthorizationToken", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer")
ITS_ROLE = {"Fn::GetAtt": ["Role", "Arn"]}
SAGEMAKER = "sagemaker.amazonaws.com"


def model(*actions: str, region: str = "us-west-2") -> Json:
    image = f"763104351884.dkr.ecr.{region}.amazonaws.com/djl-inference:0.33.0"
    container = {"PrimaryContainer": {"Image": {"Fn::Join": ["", [image, {"Ref": "AWS::NoValue"}]]}}}
    return acting("SageMaker::Model", SAGEMAKER, *actions, ExecutionRoleArn=ITS_ROLE, **container)


def schedule(service: str) -> Json:
    return acting("Scheduler::Schedule", service, Target={"Arn": "arn:aws:sqs:us-west-2:1:jobs", "RoleArn": ITS_ROLE})


def flow_log(service: str) -> Json:
    return acting("EC2::FlowLog", service, DeliverLogsPermissionArn=ITS_ROLE)


TARGETS = {"Targets": resource("ElasticLoadBalancingV2::TargetGroup")}
FULL_NAME = {"Fn::GetAtt": ["Targets", "TargetGroupFullName"]}
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
    "an outbound rule on a group that allows all outbound traffic": (
        ways_out_lost,
        assembly(net={"Group": resource("EC2::SecurityGroup"), **outward({"Ref": "Group"}, CidrIp="10.0.0.0/8")}),
        "net.Group: net.Out",
    ),
    "an outbound rule on an existing group": (
        ways_out_lost,
        assembly(net=outward("sg-1", CidrIp="10.0.0.0/8")),
        "sg-1: net.Out",
    ),
    "one name in two stacks": (
        names_twice,
        assembly(a=LOG, b=LOG),
        "a.Log, b.Log",
    ),
    "one export name in two stacks": (names_twice, assembly(net=net(), other=net()), "net.Group, other.Group"),
    "a weak reference": (
        weak_references,
        assembly(net=net(), a=rule("sg-1", WEAK), b=rule("sg-1", STRONG)),
        "a.Rule takes a value by a weak reference",
    ),
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
    "an alarm on the ARN of a target group": (
        short_names_in_alarms,
        assembly(a=TARGETS | alarm(TargetGroup={"Ref": "Targets"})),
        "a.Alarm: TargetGroup is a.Targets",
    ),
    "a model whose role cannot sign in to the registry": (
        images_not_pulled,
        assembly(a=model(*PULL[1:])),
        "a.Acting: a.Role lacks ecr:GetAuthorizationToken",
    ),
    "an image of another Region": (
        images_of_other_regions,
        assembly(a=model(*PULL, region="us-east-1")),
        "a.Acting: an image of us-east-1",
    ),
    "a training image of another Region": (
        images_of_other_regions,
        assembly(
            a={
                "Train": resource(
                    "StepFunctions::StateMachine",
                    DefinitionString='{"TrainingImage": "763104351884.dkr.ecr.eu-west-1.amazonaws.com/pytorch"}',
                )
            }
        ),
        "a.Train: an image of eu-west-1",
    ),
    "a schedule's role of another service": (
        roles_of_other_services,
        assembly(a=schedule("lambda.amazonaws.com")),
        "a.Acting: a.Role does not trust scheduler.amazonaws.com",
    ),
    "a flow log's role of another service": (
        roles_of_other_services,
        assembly(a=flow_log("logs.amazonaws.com")),
        "a.Acting: a.Role does not trust vpc-flow-logs.amazonaws.com",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_each_check_finds_its_planted_mistake(name: str) -> None:
    check, example, words = PLANTED[name]
    if "the group itself has" in name:
        outputs = example.templates["net"]["Outputs"]
        outputs["Own"] = {"Value": {"Fn::GetAtt": ["Own", "GroupId"]}, "Export": {"Name": "net:Own"}}
    (found,) = check(example)
    assert words in found


def test_valid_assemblies_have_no_findings() -> None:
    good = assembly(
        net=net(),
        a=rule("sg-1", STRONG) | outward(STRONG, DestinationSecurityGroupId="sg-1"),
        b=rule("sg-2", STRONG),
        c=TARGETS | alarm(TargetGroup=FULL_NAME),
        d=model(*PULL),
        e=schedule("scheduler.amazonaws.com"),
        f=flow_log("vpc-flow-logs.amazonaws.com"),
    )
    assert [found for check in EVERY_CHECK for found in check(good)] == []


def test_a_resource_is_replaced_together_with_its_vpc() -> None:
    before = assembly(net=net(), a=rule("sg-1", STRONG))
    after = assembly(net=net(Vpc=resource("EC2::VPC", CidrBlock="10.9.0.0/16")), a=rule("sg-1", STRONG))
    assert replaced(before, after) == {"net.Vpc", "net.Group"}, "a group is replaced with its VPC"
    assert replaced(before, before) == set()
