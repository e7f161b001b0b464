"""`--follow` waits for what is not there yet, shows each thing once, and ends by Ctrl-C with 130."""

from typing import Any

import pytest

from llm_fleet.cli.events.cluster_events import cluster_operations
from tests.cli.canned_account import CannedAccount
from tests.cli.day_two.conftest import Say, line, operation

GONE = "ResourceNotFoundException"
FAILED = {
    "EventId": "00000001-89ab-cdef-0123-456789abcdef",
    "ClusterArn": operation()["ClusterArn"],
    "ClusterName": "ml-cluster",
    "ResourceType": "Cluster",
    "EventTime": operation()["CreationTime"],
    "EventLevel": "Error",
    "Description": "Instance creation failed",
}


def test_lines_are_waited_for_where_there_is_no_log_group_yet(say: Say, hyperpod: CannedAccount, ctrl_c: Any) -> None:
    hyperpod.refuses("FilterLogEvents", code=GONE)

    def later(pause: int) -> None:
        if pause == 2:
            hyperpod.says(FilterLogEvents={"events": [line(0, "it starts")]})

    assert len(ctrl_c(4, later)) == 0
    code, out, err = say("logs", "ml-cluster", "--follow")
    assert code == 130
    assert out.count("it starts") == 1
    assert err.count("there is no such log yet: waiting") == 1


def test_a_log_group_that_is_deleted_meanwhile_is_told(say: Say, hyperpod: CannedAccount, ctrl_c: Any) -> None:
    def deleted(_: int) -> None:
        hyperpod.refuses("FilterLogEvents", code=GONE)

    ctrl_c(3, deleted)
    code, out, err = say("logs", "ml-cluster", "--follow")
    assert (code, out.count("LFN31 after"), err.count("waiting")) == (130, 1, 1)


def test_nothing_is_waited_for_that_nobody_says_will_be(say: Say, hyperpod: CannedAccount) -> None:
    hyperpod.refuses("DescribeCluster", code="ResourceNotFound")
    code, _, err = say("logs", "ml-cluster", "--follow")
    assert (code, "LF1008" in err) == (1, True)


def test_another_log_is_waited_for_too(say: Say, hyperpod: CannedAccount, ctrl_c: Any) -> None:
    ctrl_c(1)
    hyperpod.refuses("FilterLogEvents", code=GONE)
    code, _, err = say("logs", "ml-cluster", "--health", "--follow")
    assert (code, "waiting" in err) == (130, True)
    assert hyperpod.asked[-1][1]["logStreamNamePrefix"] == "SagemakerHealthMonitoringAgent/"


def test_a_parallelcluster_is_waited_for_as_soon_as_it_has_a_node(
    say: Say, ctrl_c: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = {"InstanceId": "i-0a", "State": {"Name": "running"}, "LaunchTime": operation()["CreationTime"]}
    tags = [
        {"Key": f"parallelcluster:{key}", "Value": value}
        for key, value in (("cluster-name", "pc-0123abcd"), ("node-type", "HeadNode"))
    ]
    aws = CannedAccount(
        {
            "DescribeLogGroups": {"logGroups": []},
            "DescribeInstances": {"Reservations": [{"Instances": [head | {"Tags": tags}]}]},
        }
    ).lives(monkeypatch)
    ctrl_c(1)
    code, _, err = say("logs", "pc", "--kind", "parallelcluster", "--follow")
    assert (code, "waiting" in err) == (130, True)
    aws.says(DescribeInstances={"Reservations": []})
    code, _, err = say("logs", "pc", "--kind", "parallelcluster", "--follow")
    assert (code, "LF1121" in err) == (1, True)


def test_events_are_shown_once_and_described_once(say: Say, hyperpod: CannedAccount, ctrl_c: Any) -> None:
    hyperpod.says(ListClusterEvents={"Events": [FAILED]}, DescribeClusterEvent={"EventDetails": FAILED})
    pauses = ctrl_c(2)
    code, out, _ = say("events", "ml-cluster", "--follow")
    assert (code, out.count("Instance creation failed")) == (130, 1)
    assert [name for name, _ in hyperpod.asked].count("DescribeClusterEvent") == 1
    assert pauses == [15.0, 15.0]


def test_operations_are_told_with_what_they_are_to_come_to(say: Say, hyperpod: CannedAccount, ctrl_c: Any) -> None:
    counts = {"Original": {"CurrentCount": 2, "TargetCount": 2}, "Desired": {"TargetCount": 4}}
    running = operation(Type="Scaling", Status="InProgress")
    whole = running | {"ScalingDetails": [{"InstanceGroupName": "trn1", "Status": "InProgress", **counts}]}
    hyperpod.says(ListClusterOperations={"ClusterOperationSummaries": [running]}, DescribeClusterOperation=whole)

    def later(pause: int) -> None:
        done = {"Status": "Done"}
        hyperpod.says(ListClusterOperations={"ClusterOperationSummaries": [running | done]})
        hyperpod.says(DescribeClusterOperation=whole | done)

    ctrl_c(3, later)
    _, out, _ = say("events", "ml-cluster", "--follow")
    assert out.count("operation Scaling InProgress: trn1 2 to 4 nodes") == 1
    assert out.count("operation Scaling Done: trn1 2 to 4 nodes") == 1
    assert [name for name, _ in hyperpod.asked].count("DescribeClusterOperation") == 2


def test_a_deep_health_check_is_an_operation_and_an_old_boto3_knows_none(hyperpod: CannedAccount) -> None:
    from llm_fleet.cli.aws.clients import AwsClients

    checks = [{"InstanceGroupName": "trn1", "InstanceIds": ["i-0a1b2c3d"], "DeepHealthChecks": ["InstanceStress"]}]
    told = operation(Type="DeepHealthCheck", Status="Done")
    hyperpod.says(ListClusterOperations={"ClusterOperationSummaries": [told]})
    hyperpod.says(DescribeClusterOperation=told | {"DeepHealthCheckDetails": checks})
    (one,) = cluster_operations(AwsClients(region="us-west-2"), "ml-cluster")
    assert (one.about, one.what) == ("trn1", "operation DeepHealthCheck Done: trn1 1 node, InstanceStress")
    remarks: list[str] = []
    old: Any = type("Old", (), {"sagemaker": object()})()
    assert cluster_operations(old, "ml-cluster", remark=remarks.append) == []
    assert "pip install" in remarks[0]
