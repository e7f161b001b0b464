"""The monitored example, deployed to a local emulation: its function really counts nodes and keeps log groups."""

from collections.abc import Generator
from typing import Any

import pytest

from llm_fleet_local.aws.client import LocalAws
from tests.deployment.conftest import synthesize
from tools.synth_environment import ROOT

pytestmark = pytest.mark.usefixtures("few_scripts")

EXAMPLE = ROOT / "examples" / "hyperpod-monitored.yaml"
MONITORING, TRAIN = "monitored-monitoring", "monitored-train"
ARN = "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl"


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Generator[LocalAws]:
    with LocalAws(region="us-west-2") as running:
        running.bootstrap()
        report = running.deploy(synthesize(tmp_path_factory.mktemp("monitored") / "cdk.out", EXAMPLE))
        assert report.succeeded, str(report)
        yield running


def outputs(aws: LocalAws, stack: str) -> dict[str, str]:
    reported: list[dict[str, str]] = aws.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0][
        "Outputs"
    ]
    return {output["OutputKey"]: output["OutputValue"] for output in reported}


def groups(aws: LocalAws) -> dict[str, int | None]:
    found = aws.client("logs").describe_log_groups(logGroupNamePrefix="/aws/sagemaker/Clusters/")["logGroups"]
    return {group["logGroupName"]: group.get("retentionInDays") for group in found}


def run(aws: LocalAws, event: dict[str, Any]) -> dict[str, Any]:
    ran = aws.invoke(outputs(aws, MONITORING)["Observer"], event)
    assert ran["ended_well"], ran["log"]
    return ran["returned"]


def test_it_is_before_the_cluster(aws: LocalAws) -> None:
    made = {stack["name"]: aws.events(stack["name"]) for stack in aws.stacks() if stack["name"] in (MONITORING, TRAIN)}
    assert made[MONITORING][-1]["Timestamp"] <= made[TRAIN][0]["Timestamp"]


def test_a_run_counts_nodes_and_gives_the_log_group_its_retention(aws: LocalAws) -> None:
    cluster = aws.client("sagemaker").describe_cluster(ClusterName="train")["ClusterArn"]
    group = f"/aws/sagemaker/Clusters/train/{cluster.rpartition('/')[2]}"
    aws.client("logs").create_log_group(logGroupName=group)  # as HyperPod does: for ever
    seen = run(aws, {"detail-type": "Scheduled Event"})["seen"]["train"]
    assert seen == {"nodes_running": 3, "nodes_pending": 0, "nodes_missing": 0, "nodes_failed": 0}
    assert groups(aws)[group] == 90
    reported = aws.client("cloudwatch").list_metrics(Namespace="LlmFleet/Clusters")["Metrics"]
    assert {(one["MetricName"], one["Dimensions"][0]["Value"]) for one in reported} == {
        (name, "train") for name in ("NodesRunning", "NodesPending", "NodesMissing", "NodesFailed")
    }


def test_a_cluster_that_is_being_created_has_its_log_group_before_a_node_writes(aws: LocalAws) -> None:
    event = {
        "source": "aws.sagemaker",
        "detail-type": "SageMaker HyperPod Cluster State Change",
        "detail": {"ClusterName": "train", "ClusterArn": ARN, "ClusterStatus": "Creating"},
    }
    assert run(aws, event) == {"log_group": "made"}
    assert groups(aws)["/aws/sagemaker/Clusters/train/abcdefghijkl"] == 90
    assert run(aws, event) == {"log_group": "kept"}


def test_its_alarms_use_the_topic_and_the_functions_metrics(aws: LocalAws) -> None:
    reported = aws.client("cloudwatch").describe_alarms(AlarmNamePrefix="monitored-")["MetricAlarms"]
    alarms = {alarm["AlarmName"]: alarm for alarm in reported}
    topic = outputs(aws, MONITORING)["AlarmTopicArn"]
    assert all(alarm["AlarmActions"] == [topic] for alarm in alarms.values())
    assert {"monitored-train-NodeFailed", "monitored-train-IdleAllocated", "monitored-Lustre"} <= set(alarms)
    failed = alarms["monitored-train-NodeFailed"]
    assert failed["Metrics"][0]["MetricStat"]["Metric"]["MetricName"] == "NodesFailed"
    assert (failed["EvaluationPeriods"], failed["TreatMissingData"]) == (2, "notBreaching")
    # As the file says it: 45 minutes and two hours.
    assert alarms["monitored-train-IdleAllocated"]["EvaluationPeriods"] == 9
    assert alarms["monitored-train-QueueWait"]["Threshold"] == 7200
    emails = aws.client("sns").list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
    assert [email["Endpoint"] for email in emails] == ["oncall@example.com"]


def test_events_are_reported_by_one_watch_to_the_same_topic(aws: LocalAws) -> None:
    assert outputs(aws, "monitored-watch")["TopicArn"] == outputs(aws, MONITORING)["AlarmTopicArn"]
    rules = aws.client("events").list_rules()["Rules"]
    heard = [rule for rule in rules if "SageMaker HyperPod Cluster Event" in rule.get("EventPattern", "")]
    assert len(heard) == 1


def test_the_budget_waits_for_a_person(aws: LocalAws) -> None:
    budgets = aws.client("budgets")
    (budget,) = budgets.describe_budgets(AccountId=aws.account)["Budgets"]
    assert budget["BudgetLimit"]["Amount"] == "20000"
    (action,) = budgets.describe_budget_actions_for_budget(AccountId=aws.account, BudgetName=budget["BudgetName"])[
        "Actions"
    ]
    assert (action["ApprovalModel"], action["Status"]) == ("MANUAL", "STANDBY")
    statement = aws.client("iam").get_policy_version(
        PolicyArn=action["Definition"]["IamActionDefinition"]["PolicyArn"], VersionId="v1"
    )["PolicyVersion"]["Document"]["Statement"][0]
    assert statement["Effect"] == "Deny"
    assert "sagemaker:CreateCluster" in statement["Action"]
