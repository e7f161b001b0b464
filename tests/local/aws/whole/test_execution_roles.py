"""The service role of a stack: its permissions are evaluated for each call, when a test requests it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from llm_fleet_local.aws.client import LocalAws

TEMPLATE = {
    "Parameters": {"Image": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/our/image"}},
    "Resources": {
        "Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "our-topic", "DisplayName": {"Ref": "Image"}}},
        "Role": {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "RoleName": "our-role",
                "AssumeRolePolicyDocument": {
                    "Statement": [
                        {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ec2.amazonaws.com"}}
                    ]
                },
            },
        },
        "Profile": {"Type": "AWS::IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": "Role"}]}},
    },
}
ROLE = "arn:aws:iam::123456789012:role/our-role"
SNS = {"Action": "sns:*", "Resource": "arn:aws:sns:us-west-2:123456789012:our-*"}
SSM = {"Action": "ssm:GetParameters", "Resource": "arn:aws:ssm:*:123456789012:parameter/our/*"}
IAM = {
    "Action": ["iam:*Role*", "iam:*InstanceProfile*"],
    "Resource": ["arn:aws:iam::*:role/*", "arn:aws:iam::*:instance-profile/*"],
}
NO_PASS = {"Effect": "Deny", "Action": "iam:PassRole", "Resource": "*"}
PASS_ECS = {
    **NO_PASS,
    "Condition": {"StringEquals": {"iam:PassedToService": ["ec2.amazonaws.com", "ecs.amazonaws.com"]}},
}


@pytest.fixture
def checked(aws: LocalAws) -> Iterator[LocalAws]:
    aws.client("ssm").put_parameter(Name="/our/image", Value="an-image", Type="String", Overwrite=True)
    aws.check_execution_roles()
    yield aws
    aws.check_execution_roles(False)
    remove(aws)


def remove(aws: LocalAws) -> None:
    aws.client("cloudformation").delete_stack(StackName="roles")
    aws.client("cloudformation").get_waiter("stack_delete_complete").wait(
        StackName="roles", WaiterConfig={"Delay": 0.1}
    )


def service_role(aws: LocalAws, *statements: dict[str, Any], service: str = "cloudformation.amazonaws.com") -> str:
    """Make the role `exec` again with these statements; return its ARN."""
    iam = aws.client("iam")
    trust = [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": service}}]
    policy = [{"Effect": "Allow", **statement} for statement in statements]
    try:
        iam.delete_role_policy(RoleName="exec", PolicyName="own")
        iam.delete_role(RoleName="exec")
    except iam.exceptions.NoSuchEntityException:
        pass
    document = json.dumps({"Version": "2012-10-17", "Statement": trust})
    arn = iam.create_role(RoleName="exec", AssumeRolePolicyDocument=document)["Role"]["Arn"]
    text = json.dumps({"Version": "2012-10-17", "Statement": policy})
    iam.put_role_policy(RoleName="exec", PolicyName="own", PolicyDocument=text)
    return arn


def create(aws: LocalAws, role: str) -> tuple[str, str]:
    """Create the stack; return its status and the reasons of failures."""
    cloudformation = aws.client("cloudformation")
    cloudformation.create_stack(
        StackName="roles", TemplateBody=json.dumps(TEMPLATE), RoleARN=role, Capabilities=["CAPABILITY_NAMED_IAM"]
    )
    while True:
        status = cloudformation.describe_stacks(StackName="roles")["Stacks"][0]["StackStatus"]
        if not status.endswith("_IN_PROGRESS"):
            break
    events = aws.events("roles")
    return status, "\n".join(one.get("ResourceStatusReason", "") for one in events if "FAILED" in one["ResourceStatus"])


def test_a_role_with_the_permissions_creates_and_deletes_the_stack(checked: LocalAws):
    assert create(checked, service_role(checked, SNS, SSM, IAM)) == ("CREATE_COMPLETE", "")
    remove(checked)


@pytest.mark.parametrize(
    ("statements", "denied"),
    [
        ((SSM, IAM), "sns:GetTopicAttributes on resource: arn:aws:sns:us-west-2:123456789012:our-topic"),
        ((SNS, SSM), f"iam:CreateRole on resource: {ROLE}"),
        ((SNS, SSM, IAM, NO_PASS), f"iam:PassRole on resource: {ROLE}"),
        ((SNS, SSM, IAM, PASS_ECS), f"iam:PassRole on resource: {ROLE}"),
    ],
    ids=["no topics", "no roles", "a denied role", "a role denied for its service"],
)
def test_a_missing_permission_fails_the_stack(checked: LocalAws, statements: tuple[Any, ...], denied: str):
    status, reasons = create(checked, service_role(checked, *statements))
    assert status.startswith("ROLLBACK")
    assert denied in reasons


def test_a_region_that_is_not_the_stacks_does_not_allow(checked: LocalAws):
    elsewhere = {**SNS, "Condition": {"StringEquals": {"aws:RequestedRegion": "eu-west-1"}}}
    assert "sns:GetTopicAttributes" in create(checked, service_role(checked, elsewhere, SSM, IAM))[1]


def test_a_parameter_is_read_with_the_role(checked: LocalAws):
    with pytest.raises(
        ClientError, match="ssm:GetParameters on resource: arn:aws:ssm:us-west-2:123456789012:parameter"
    ):
        create(checked, service_role(checked, SNS, IAM))


def test_a_role_for_another_service_cannot_be_assumed(checked: LocalAws):
    role = service_role(checked, SNS, SSM, IAM, service="ec2.amazonaws.com")
    with pytest.raises(ClientError, match="does not trust cloudformation"):
        create(checked, role)


def test_by_default_a_stack_can_do_everything(aws: LocalAws):
    aws.client("ssm").put_parameter(Name="/our/image", Value="an-image", Type="String", Overwrite=True)
    assert create(aws, service_role(aws, SSM)) == ("CREATE_COMPLETE", "")
    remove(aws)
