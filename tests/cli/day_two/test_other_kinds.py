"""`bundle` and `events` for each kind of place; `--follow` shows each event once, and returns 130 after Ctrl-C."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.cli.events.cluster_events import cluster_operations
from tests.cli.canned_account import CannedAccount
from tests.cli.day_two.conftest import Say, line, operation, stream
from tests.cli.day_two.test_denied import files_of

AT = datetime(2026, 11, 22, 3, tzinfo=UTC)
ECS = "arn:aws:ecs:us-west-2:111122223333"
PARALLEL, SERVICE = ("pc", "--kind", "parallelcluster"), ("talk", "--kind", "service")
FAILED = [
    "    0.18  OnNodeConfigured: fleet demo, cluster pc",
    "    5.31  LFN51  mount_lustre: StoragePass=oh-no-1234",
    "    5.32  OnNodeConfigured: LFN51 after 5.32 s",
]


@pytest.fixture
def parallel(monkeypatch: pytest.MonkeyPatch) -> CannedAccount:
    tags = {"cluster-name": "pc-0123abcd", "node-type": "HeadNode"}
    head = {
        "InstanceId": "i-0a0a0a0a0a0a0a0a0",
        "State": {"Name": "running"},
        "LaunchTime": AT,
        "Tags": [{"Key": f"parallelcluster:{key}", "Value": value} for key, value in tags.items()],
    }
    name = "ip-10-1-0-5.i-0a0a0a0a0a0a0a0a0.cfn-init"
    failed = {"StackId": "s", "EventId": "e", "StackName": "pc", "Timestamp": AT, "ResourceStatus": "CREATE_FAILED"}
    stack = {"StackId": "s", "StackName": "pc-0123abcd", "CreationTime": AT, "StackStatus": "CREATE_FAILED"}
    answers: dict[str, Any] = {
        "DescribeInstances": {"Reservations": [{"Instances": [head]}]},
        "DescribeLogGroups": {"logGroups": [{"logGroupName": "/aws/parallelcluster/pc-0123abcd-202611220300"}]},
        "DescribeLogStreams": {"logStreams": [{"logStreamName": name}]},
        "FilterLogEvents": {
            "events": [line(number, text) | {"logStreamName": name} for number, text in enumerate(FAILED)]
        },
        "GetLogEvents": stream(*FAILED),
        "DescribeStacks": {"Stacks": [stack | {"Tags": [{"Key": "parallelcluster:version", "Value": "3.16.1"}]}]},
        "DescribeStackEvents": {"StackEvents": [failed | {"ResourceStatusReason": "return code: 39"}]},
    }
    return CannedAccount(answers).lives(monkeypatch)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> CannedAccount:
    reported = {"status": "ACTIVE", "runningCount": 0, "desiredCount": 1}
    events = [
        {"id": "1", "createdAt": AT, "message": "(service talk) was unable to place a task"},
        {"id": "2", "createdAt": AT, "message": "(service talk) has started 1 tasks"},
    ]
    task = f"{ECS}:task/talk/0123456789abcdef"
    stopped = {
        "taskArn": task,
        "lastStatus": "STOPPED",
        "stopCode": "EssentialContainerExited",
        "stoppedReason": "Essential container in task exited",
        "stoppedAt": AT,
        "containers": [{"name": "server", "exitCode": 137}],
    }

    def tasks(requested: dict[str, Any]) -> dict[str, Any]:
        return {"taskArns": [task] if requested.get("desiredStatus") == "STOPPED" else []}

    answers: dict[str, Any] = {
        "DescribeServices": {"services": [reported | {"events": events}]},
        "ListContainerInstances": {"containerInstanceArns": []},
        "ListTasks": tasks,
        "DescribeTasks": {"tasks": [stopped]},
        "FilterLogEvents": {"events": []},
    }
    return CannedAccount(answers).lives(monkeypatch)


def test_bundle_of_parallelcluster(say: Say, parallel: CannedAccount) -> None:
    code, out, err = say("bundle", *PARALLEL, "--no-session", "-o", "out.tar.gz", "--json")
    assert code == 0, err
    assert "logs/head-i-0a0a0a0a0a0a0a0a0.log" in json.loads(out)["files"]
    files = files_of(Path("out.tar.gz"))
    assert files["nodes.json"]["nodes"][0]["label"] == "head-1"
    assert files["events.json"]["events"][0]["failure"] == "return code: 39"
    (run,) = files["starts.json"]["runs"]
    assert (run["group"], run["code"], run["cause"]) == ("head", "LFN51", "StoragePass=<redacted>")


def test_denied_events_of_parallelcluster(say: Say, parallel: CannedAccount) -> None:
    assert say("events", *PARALLEL)[0] == 1
    parallel.refuses("DescribeStackEvents")
    code, _, err = say("events", *PARALLEL)
    assert (code, "DescribeStackEvents" in err) == (3, True)


def test_logs_of_parallelcluster_without_its_instances(say: Say, parallel: CannedAccount) -> None:
    parallel.refuses("DescribeInstances", code="UnauthorizedOperation")
    code, out, err = say("logs", *PARALLEL)
    assert (code, "LFN51" in out, ", node deleted" in out, "DescribeInstances" in err) == (1, True, False, True)
    parallel.says(DescribeInstances={"Reservations": []})
    assert ", node deleted" in say("logs", *PARALLEL)[1]


def test_events_of_a_service(say: Say, service: CannedAccount) -> None:
    code, out, err = say("events", *SERVICE)
    assert code == 1
    rows = [row for row in out.splitlines() if "ECS" in row]
    assert [word for row in rows for word in ("Warn", "Info", "Error") if word in row] == ["Warn", "Info", "Error"]
    assert "task stopped: EssentialContainerExited" in out
    assert "server: exit code 137" in out
    assert "name the fleet file with -f FILE, which has the stack's name" in err
    service.refuses("DescribeServices")
    code, _, err = say("events", *SERVICE)
    assert (code, "DescribeServices" in err) == (3, True)


def test_bundle_of_a_service(say: Say, service: CannedAccount) -> None:
    code, _, err = say("bundle", *SERVICE, "-o", "out.tar.gz")
    assert code == 0, err
    files = files_of(Path("out.tar.gz"))
    assert files["stopped-tasks.json"][0]["code"] == "EssentialContainerExited"
    assert files["service.json"]["services"][0]["status"] == "ACTIVE"
    assert files["nodes.json"]["counts"][-1] == {"group": "task", "current": 0, "wanted": 1}
    assert "starts.json" not in files
    service.refuses("ListTasks")
    code, _, err = say("bundle", *SERVICE, "-o", "other.tar.gz")
    assert (code, "stopped-tasks.json is left out" in err, "ListTasks" in err) == (3, True, True)


def test_denied_logs_and_upgrade_of_a_service(say: Say, service: CannedAccount) -> None:
    service.refuses("ListTasks", "ListContainerInstances")
    for words in (("logs", *SERVICE), ("upgrade", *SERVICE)):
        code, _, err = say(*words)
        assert (code, "LF1004" in err) == (3, True)


def test_without_failures_of_parallelcluster_the_option_all_is_named(say: Say, parallel: CannedAccount) -> None:
    parallel.says(DescribeStackEvents={"StackEvents": []})
    code, out, _ = say("events", *PARALLEL)
    assert (code, out) == (0, "no failures; --all shows all events\n")
    assert say("events", *PARALLEL, "--all")[1] == "no events\n"


GONE = "ResourceNotFoundException"
FAILED_EVENT = {
    "EventId": "00000001-89ab-cdef-0123-456789abcdef",
    "ClusterArn": operation()["ClusterArn"],
    "ClusterName": "ml-cluster",
    "ResourceType": "Cluster",
    "EventTime": operation()["CreationTime"],
    "EventLevel": "Error",
    "Description": "Instance creation failed",
}


def test_follow_waits_for_a_log_group_that_does_not_exist_yet(say: Say, hyperpod: CannedAccount, ctrl_c: Any) -> None:
    hyperpod.refuses("FilterLogEvents", code=GONE)

    def later(pause: int) -> None:
        if pause == 2:
            hyperpod.says(FilterLogEvents={"events": [line(0, "it starts")]})

    assert len(ctrl_c(4, later)) == 0
    code, out, err = say("logs", "ml-cluster", "--follow")
    assert code == 130
    assert out.count("it starts") == 1
    assert err.count("the log does not exist yet: waiting") == 1


def test_a_log_group_that_is_deleted_while_it_is_followed_is_reported(
    say: Say, hyperpod: CannedAccount, ctrl_c: Any
) -> None:
    def deleted(_: int) -> None:
        hyperpod.refuses("FilterLogEvents", code=GONE)

    ctrl_c(3, deleted)
    code, out, err = say("logs", "ml-cluster", "--follow")
    assert (code, out.count("LFN31 after"), err.count("waiting")) == (130, 1, 1)


def test_follow_does_not_wait_for_an_unknown_cluster(say: Say, hyperpod: CannedAccount) -> None:
    hyperpod.refuses("DescribeCluster", code="ResourceNotFound")
    code, _, err = say("logs", "ml-cluster", "--follow")
    assert (code, "LF1008" in err) == (1, True)


def test_follow_waits_for_another_log(say: Say, hyperpod: CannedAccount, ctrl_c: Any) -> None:
    ctrl_c(1)
    hyperpod.refuses("FilterLogEvents", code=GONE)
    code, _, err = say("logs", "ml-cluster", "--health", "--follow")
    assert (code, "waiting" in err) == (130, True)
    assert hyperpod.requested[-1][1]["logStreamNamePrefix"] == "SagemakerHealthMonitoringAgent/"


def test_follow_waits_for_the_log_of_a_parallelcluster_with_a_node(
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
    hyperpod.says(ListClusterEvents={"Events": [FAILED_EVENT]}, DescribeClusterEvent={"EventDetails": FAILED_EVENT})
    pauses = ctrl_c(2)
    code, out, _ = say("events", "ml-cluster", "--follow")
    assert (code, out.count("Instance creation failed")) == (130, 1)
    assert [name for name, _ in hyperpod.requested].count("DescribeClusterEvent") == 1
    assert pauses == [15.0, 15.0]


def test_operations_are_reported_with_their_target(say: Say, hyperpod: CannedAccount, ctrl_c: Any) -> None:
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
    assert [name for name, _ in hyperpod.requested].count("DescribeClusterOperation") == 2


def test_a_deep_health_check_is_an_operation_and_an_old_boto3_has_none(hyperpod: CannedAccount) -> None:
    from llm_fleet.cli.clients import AwsClients

    checks = [{"InstanceGroupName": "trn1", "InstanceIds": ["i-0a1b2c3d"], "DeepHealthChecks": ["InstanceStress"]}]
    reported = operation(Type="DeepHealthCheck", Status="Done")
    hyperpod.says(ListClusterOperations={"ClusterOperationSummaries": [reported]})
    hyperpod.says(DescribeClusterOperation=reported | {"DeepHealthCheckDetails": checks})
    (one,) = cluster_operations(AwsClients(region="us-west-2"), "ml-cluster")
    assert (one.about, one.what) == ("trn1", "operation DeepHealthCheck Done: trn1 1 node, InstanceStress")
    remarks: list[str] = []
    old: Any = type("Old", (), {"sagemaker": object()})()
    assert cluster_operations(old, "ml-cluster", remark=remarks.append) == []
    assert "pip install" in remarks[0]
