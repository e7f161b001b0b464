"""Notifications in the AWS emulator: subscriptions, chat channels and budget actions, with the services' errors."""

from typing import Any

import pytest

from llm_fleet_local.aws.resource_provider import Level, ResourceFailed
from tests.local.aws.resources.support import ACCOUNT, Deployer

DENIAL = {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "ec2:RunInstances", "Resource": "*"}]}


def role(deployer: Deployer) -> str:
    deployer.create("AWS::IAM::Role", RoleName="Acts", AssumeRolePolicyDocument={})
    return f"arn:aws:iam::{ACCOUNT}:role/Acts"


def test_the_life_of_a_subscription(deployer: Deployer) -> None:
    topic = deployer.create("AWS::SNS::Topic", TopicName="reported").physical_id
    given = {"TopicArn": topic, "Protocol": "email", "Endpoint": "oncall@example.com"}
    made = deployer.create("AWS::SNS::Subscription", **given)
    sns = deployer.client("sns")
    assert [one["Endpoint"] for one in sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]] == [
        "oncall@example.com"
    ]
    deployer.delete("AWS::SNS::Subscription", made, **given)
    assert sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"] == []


def test_the_life_of_a_budget_action_and_its_dependencies(deployer: Deployer) -> None:
    policy = deployer.create("AWS::IAM::ManagedPolicy", ManagedPolicyName="Deny", PolicyDocument=DENIAL).physical_id
    budget = deployer.create(
        "AWS::Budgets::Budget",
        Budget={"BudgetType": "COST", "TimeUnit": "MONTHLY", "BudgetLimit": {"Amount": 1, "Unit": "USD"}},
    ).physical_id
    given: dict[str, Any] = {
        "BudgetName": budget,
        "NotificationType": "ACTUAL",
        "ActionType": "APPLY_IAM_POLICY",
        "ActionThreshold": {"Type": "PERCENTAGE", "Value": 100},
        "ApprovalModel": "MANUAL",
        "Definition": {"IamActionDefinition": {"PolicyArn": policy, "Roles": ["ml"]}},
        "ExecutionRoleArn": role(deployer),
        "Subscribers": [{"Type": "EMAIL", "Address": "finance@example.com"}],
    }
    for wrong in ({"BudgetName": "none"}, {"ExecutionRoleArn": f"arn:aws:iam::{ACCOUNT}:role/missing-there"}):
        with pytest.raises(ResourceFailed, match="exist"):
            deployer.create("AWS::Budgets::BudgetsAction", **{**given, **wrong})
    made = deployer.create("AWS::Budgets::BudgetsAction", **given)
    deployer.update("AWS::Budgets::BudgetsAction", made, given, {**given, "ApprovalModel": "AUTOMATIC"})
    client = deployer.client("budgets")
    (reported,) = client.describe_budget_actions_for_budget(AccountId=ACCOUNT, BudgetName=budget)["Actions"]
    assert (reported["ApprovalModel"], reported["Status"]) == ("AUTOMATIC", "STANDBY")
    deployer.delete("AWS::Budgets::BudgetsAction", made, **given)
    assert client.describe_budget_actions_for_budget(AccountId=ACCOUNT, BudgetName=budget)["Actions"] == []


def test_a_chat_channel_is_recorded_and_requires_its_role(deployer: Deployer) -> None:
    given: dict[str, Any] = {
        "ConfigurationName": "alarms",
        "IamRoleArn": f"arn:aws:iam::{ACCOUNT}:role/Acts",
        "SlackWorkspaceId": "T0123456789",
        "SlackChannelId": "C0123456789",
    }
    with pytest.raises(ResourceFailed, match="Acts"):
        deployer.create("AWS::Chatbot::SlackChannelConfiguration", **given)
    role(deployer)
    made = deployer.create("AWS::Chatbot::SlackChannelConfiguration", **given)
    assert made.level is Level.RECORDED
    assert made.physical_id == f"arn:aws:chatbot::{ACCOUNT}:chat-configuration/slack-channel/alarms"
