"""ClusterMonitoring in a user's stack: resources, errors, and no cdk-nag findings."""

import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_sns as sns

from llm_fleet.monitoring.cluster_monitoring import ClusterMonitoring
from llm_fleet.monitoring.monitored_cluster import MonitoredCluster
from llm_fleet.rules.problem import FleetError
from llm_fleet.spec.monitoring import (
    BudgetDenial,
    ClusterAlarms,
    ClusterAlarmThresholds,
    FleetBudget,
    MonitoringSpec,
    SlackChannel,
    TeamsChannel,
)
from tests.clean import nag_findings

UUID = "01234567-89ab-cdef-0123-456789abcdef"
SLACK = SlackChannel(workspace_id="T0123456789", channel_id="C0123456789")
TEAMS = TeamsChannel(team_id=UUID, tenant_id=UUID, channel_id="19%3a0123abcd%40thread.tacv2")
BUDGET = FleetBudget(monthly_usd=1)


class FileSystem:
    file_system_id = "fs-0123456789abcdef0"


def resources(stack: cdk.Stack, kind: str) -> list[dict[str, Any]]:
    template: dict[str, Any] = cdk.App.of(stack).synth().get_stack_by_name(stack.stack_name).template  # pyright: ignore
    return [one["Properties"] for one in template["Resources"].values() if one["Type"] == kind]


@pytest.fixture
def made(stack: cdk.Stack) -> ClusterMonitoring:
    made = ClusterMonitoring(
        stack,
        "Monitoring",
        MonitoringSpec(
            alarms=ClusterAlarms(emails=["oncall@example.com"], slack=SLACK),
            budget=FleetBudget(monthly_usd=20000, tag=("team", "research"), deny=BudgetDenial(roles=["ml-engineers"])),
            log_retention_days=30,
        ),
        name="lab",
        clusters=[
            MonitoredCluster.hyperpod("train", node_metrics=True),
            MonitoredCluster.parallelcluster("lab-0123abcd", published_as="lab"),
        ],
        lustre=FileSystem(),
    )
    made.add_chat(TEAMS)
    made.add_open_zfs("Home", FileSystem())
    return made


def test_all_resources_are_created_without_cdk_nag_findings(stack: cdk.Stack, made: ClusterMonitoring) -> None:
    assert nag_findings(cdk.App.of(stack)) == []  # pyright: ignore[reportArgumentType]
    alarms = {one["AlarmName"]: one for one in resources(stack, "AWS::CloudWatch::Alarm")}
    assert set(made.alarms) >= {"train/NodeFailed", "lab-0123abcd/HeadNode", "Lustre", "Home", "ObserverAsleep"}
    assert {"lab-train-NodeFailed", "lab-Lustre", "lab-Home", "lab-ObserverFails"} <= set(alarms)
    assert all(one["AlarmActions"] == one["OKActions"] != [] for one in alarms.values())
    silent = {name for name, one in alarms.items() if one.get("InsufficientDataActions") == one["AlarmActions"]}
    assert silent == {"lab-ObserverAsleep"}
    _check_chat_permissions(stack)
    _check_budget_action(stack)
    _check_budget_depends_on_topic_policy(stack)
    _check_function_variables(stack)
    _check_dashboard(stack)


def _check_chat_permissions(stack: cdk.Stack) -> None:
    (slack,) = resources(stack, "AWS::Chatbot::SlackChannelConfiguration")
    (teams,) = resources(stack, "AWS::Chatbot::MicrosoftTeamsChannelConfiguration")
    assert (slack["SlackWorkspaceId"], teams["TeamId"]) == ("T0123456789", UUID)
    looks = [one for one in resources(stack, "AWS::IAM::ManagedPolicy") if "chat channel" in one["Description"]]
    assert len(looks) == len([slack["GuardrailPolicies"], teams["GuardrailPolicies"]])
    for policy in looks:
        (statement,) = policy["PolicyDocument"]["Statement"]
        assert all(action.split(":")[1].startswith(("Describe", "Get", "List")) for action in statement["Action"])


def _check_budget_action(stack: cdk.Stack) -> None:
    (budget,) = resources(stack, "AWS::Budgets::Budget")
    assert budget["Budget"]["CostFilters"] == {"TagKeyValue": ["user:team$research"]}
    notifications = [one["Notification"] for one in budget["NotificationsWithSubscribers"]]
    assert [(one["NotificationType"], one["Threshold"]) for one in notifications] == [
        *(("ACTUAL", share) for share in (50, 80, 100)),
        ("FORECASTED", 100),
    ]
    (action,) = resources(stack, "AWS::Budgets::BudgetsAction")
    assert (action["ApprovalModel"], action["ActionThreshold"]) == ("MANUAL", {"Type": "PERCENTAGE", "Value": 100})
    assert action["Definition"]["IamActionDefinition"]["Roles"] == ["ml-engineers"]
    policies = resources(stack, "AWS::IAM::ManagedPolicy")
    (denial,) = [
        one["PolicyDocument"]["Statement"][0] for one in policies if "denies new instances" in one["Description"]
    ]
    assert denial["Effect"] == "Deny"
    # Stopping and deleting stays allowed, so that users can end resources after the budget is exceeded.
    assert not [action for action in denial["Action"] if "Delete" in action or "Stop" in action]


def _check_budget_depends_on_topic_policy(stack: cdk.Stack) -> None:
    template: dict[str, Any] = cdk.App.of(stack).synth().get_stack_by_name(stack.stack_name).template  # pyright: ignore
    made: dict[str, dict[str, Any]] = template["Resources"]
    (budget,) = [one for one in made.values() if one["Type"] == "AWS::Budgets::Budget"]
    (policy,) = [name for name, one in made.items() if one["Type"] == "AWS::SNS::TopicPolicy"]
    assert policy in budget.get("DependsOn", [])


def _check_function_variables(stack: cdk.Stack) -> None:
    (function,) = resources(stack, "AWS::Lambda::Function")
    variables = function["Environment"]["Variables"]
    assert json.loads(variables["CLUSTERS"]) == {"train": "hyperpod", "lab-0123abcd": "parallelcluster"}
    assert variables["RETENTION_DAYS"] == "30"
    rules = resources(stack, "AWS::Events::Rule")
    (pattern,) = [one["EventPattern"] for one in rules if "EventPattern" in one]
    assert pattern["detail"] == {"ClusterName": ["train"]}


def _check_dashboard(stack: cdk.Stack) -> None:
    (dashboard,) = resources(stack, "AWS::CloudWatch::Dashboard")
    assert dashboard["DashboardName"] == "lab-clusters-us-west-2"
    parts = dashboard["DashboardBody"]["Fn::Join"][1]
    body = json.loads("".join(part if isinstance(part, str) else "token" for part in parts))
    titles = [widget["properties"].get("title") for widget in body["widgets"]]
    assert {"Alarms", "train: nodes", "Lustre", "Home"} <= set(titles)


def test_a_budget_alone_and_an_imported_topic_create_no_function(stack: cdk.Stack) -> None:
    topic = sns.Topic.from_topic_arn(stack, "Pager", "arn:aws:sns:us-west-2:111122223333:pager")
    spec = MonitoringSpec(alarms=ClusterAlarms(topic=topic), budget=BUDGET, dashboard=False)
    made = ClusterMonitoring(stack, "M", spec, name="lab")
    assert made.topic is topic
    assert made.observer is None
    assert resources(stack, "AWS::Budgets::BudgetsAction") == resources(stack, "AWS::Lambda::Function") == []


def test_tokens_are_accepted(stack: cdk.Stack) -> None:
    text = cdk.CfnParameter(stack, "Text").value_as_string
    number = cdk.CfnParameter(stack, "Number", type="Number").value_as_number
    ClusterMonitoring(
        stack,
        "M",
        MonitoringSpec(
            alarms=ClusterAlarms(emails=[text], slack=SlackChannel(workspace_id=text, channel_id=text)),
            budget=FleetBudget(monthly_usd=number, emails=[text], deny=BudgetDenial(roles=[text])),
        ),
        name="lab",
        clusters=[MonitoredCluster.hyperpod(text)],
    )
    (function,) = resources(stack, "AWS::Lambda::Function")
    assert function["Environment"]["Variables"]["CLUSTERS"] == {
        "Fn::Join": ["", ['{"', {"Ref": "Text"}, '":"hyperpod"}']]
    }


GOOD: dict[str, Any] = {"name": "lab", "spec": MonitoringSpec(budget=BUDGET)}
WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"name": 3}, "LF113", "name"),
    ({"name": "-lab"}, "LF1189", "name"),
    ({"name": "l" * 64}, "LF1189", "name"),
    ({"clusters": "train"}, "LF113", "clusters"),
    ({"clusters": ["train"]}, "LF113", "clusters[0]"),
    ({"clusters": [MonitoredCluster.hyperpod("a"), MonitoredCluster.hyperpod("a")]}, "LF1181", "clusters[1]"),
    ({"spec": BUDGET}, "LF113", "spec"),
    ({"spec": MonitoringSpec()}, "LF1190", ""),
    ({"log_encryption_key": "key"}, "LF113", "log_encryption_key"),
    ({"lustre": "fs-1"}, "LF113", "lustre"),
    ({"database": "db"}, "LF113", "database"),
]


@pytest.mark.parametrize(("change", "code", "where"), WRONG)
def test_errors_are_reported_with_their_key(stack: cdk.Stack, change: dict[str, Any], code: str, where: str) -> None:
    with pytest.raises(FleetError) as raised:
        ClusterMonitoring(stack, "M", **{**GOOD, **change})
    assert [(problem.code.value, problem.where) for problem in raised.value.problems] == [(code, where)]
    assert raised.value.problems[0].remedy


NO_NUMBER = ClusterAlarmThresholds(disk_percent=float("nan"))
# tests/fleet_file/test_monitoring.py has the errors of a specification: the construct calls the same rules.
PARTS: list[tuple[dict[str, Any], str, str]] = [
    ({"alarms": ClusterAlarms(emails=["me@example.com", "me@example.com"])}, "LF1182", "alarms.emails[1]"),
    ({"alarms": ClusterAlarms(thresholds=NO_NUMBER)}, "LF1180", "alarms.thresholds.disk_percent"),
    ({"log_retention_days": 91}, "LF1184", "log_retention_days"),
    ({"budget": FleetBudget(monthly_usd=1, deny=BudgetDenial())}, "LF1188", "budget.deny.roles"),
]


@pytest.mark.parametrize(("change", "code", "where"), PARTS)
def test_the_specification_is_checked(stack: cdk.Stack, change: dict[str, Any], code: str, where: str) -> None:
    given: dict[str, Any] = {"budget": BUDGET, **change}
    with pytest.raises(FleetError) as raised:
        ClusterMonitoring(stack, "M", MonitoringSpec(**given), name="lab")
    assert [(problem.code.value, problem.where) for problem in raised.value.problems] == [(code, where)]


def test_an_additional_chat_is_checked_like_the_first(stack: cdk.Stack) -> None:
    monitoring = ClusterMonitoring(stack, "M", MonitoringSpec(budget=BUDGET), name="lab")
    with pytest.raises(FleetError, match="LF1183"):
        monitoring.add_chat(SlackChannel(workspace_id="T1", channel_id="#alarms"))
