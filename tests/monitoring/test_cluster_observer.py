"""The function counts nodes, creates log groups, and continues after an error of one cluster."""

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from llm_fleet.functions.cluster_observer.handler import (
    NotAllSeen,
    Observer,
    Settings,
    head_node_is_impaired,
    keep_log_group,
)

ARN = "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl"
GROUP = "/aws/sagemaker/Clusters/train/abcdefghijkl"
METRICS = {
    key: key.upper()
    for key in ("nodes_running", "nodes_pending", "nodes_missing", "nodes_failed", "head_node_impaired")
}


def rejection(code: str, message: str = "") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, "Any")


class Logs:
    """The used calls of CloudWatch Logs. `races`: HyperPod creates the log group just before the function."""

    def __init__(self, groups: Mapping[str, dict[str, Any]] | None = None, *, races: bool = False) -> None:
        self.groups = {name: {"logGroupName": name, **settings} for name, settings in (groups or {}).items()}
        self.races = races
        self.writes = 0

    def describe_log_groups(self, *, logGroupNamePrefix: str) -> dict[str, Any]:
        return {"logGroups": [group for name, group in self.groups.items() if name.startswith(logGroupNamePrefix)]}

    def create_log_group(self, *, logGroupName: str) -> None:
        self.writes += 1
        self.groups.setdefault(logGroupName, {"logGroupName": logGroupName})
        if self.races:
            raise rejection("ResourceAlreadyExistsException")

    def put_retention_policy(self, *, logGroupName: str, retentionInDays: int) -> None:
        self.writes += 1
        self.groups[logGroupName]["retentionInDays"] = retentionInDays

    def associate_kms_key(self, *, logGroupName: str, kmsKeyId: str) -> None:
        self.writes += 1
        self.groups[logGroupName]["kmsKeyId"] = kmsKeyId


class SageMaker:
    """Clusters by name: the statuses of their nodes, in pages of a hundred."""

    def __init__(self, clusters: Mapping[str, Any]) -> None:
        self.clusters = clusters
        self.calls = 0

    def describe_cluster(self, *, ClusterName: str) -> dict[str, Any]:
        nodes = self.clusters.get(ClusterName, rejection("ResourceNotFound"))
        if isinstance(nodes, Exception):
            raise nodes
        return {"ClusterArn": ARN, "InstanceGroups": [{"TargetCount": 6, "CurrentCount": len(nodes) % 7}]}

    def get_paginator(self, _: str) -> Any:
        return SimpleNamespace(paginate=self._pages)

    def _pages(self, *, ClusterName: str, PaginationConfig: dict[str, int]) -> Iterator[dict[str, Any]]:
        statuses, size = self.clusters[ClusterName], PaginationConfig["PageSize"]
        for start in range(0, len(statuses), size):
            self.calls += 1
            page = statuses[start : start + size]
            yield {"ClusterNodeSummaries": [{"InstanceStatus": {"Status": status}} for status in page]}


class CloudWatch:
    def __init__(self) -> None:
        self.data: list[dict[str, Any]] = []

    def put_metric_data(self, *, Namespace: str, MetricData: list[dict[str, Any]]) -> None:
        assert Namespace == "Test"
        self.data += MetricData

    def of(self, cluster: str) -> dict[str, float]:
        return {one["MetricName"]: one["Value"] for one in self.data if one["Dimensions"][0]["Value"] == cluster}


def observer(clusters: Mapping[str, str], **clients: Any) -> Observer:
    settings = Settings(
        clusters=clusters,
        namespace="Test",
        dimension="Cluster",
        metrics=METRICS,
        log_group="/aws/sagemaker/Clusters",
        retention_days=90,
        key_arn="",
    )
    return Observer(settings, clients.__getitem__)


def test_nodes_are_counted_by_state() -> None:
    statuses = ["Running", "Running", "Pending", "Failure", "SystemUpdating"]
    cloudwatch, logs = CloudWatch(), Logs()
    observer(
        {"train": "hyperpod"}, sagemaker=SageMaker({"train": statuses}), logs=logs, cloudwatch=cloudwatch
    ).look_at_all()
    assert cloudwatch.of("train") == {"NODES_RUNNING": 2, "NODES_PENDING": 1, "NODES_MISSING": 1, "NODES_FAILED": 1}
    assert logs.groups[GROUP]["retentionInDays"] == 90


def test_omitted_counts_are_not_missing_nodes() -> None:
    sagemaker, cloudwatch = SageMaker({"train": ["Running"]}), CloudWatch()
    groups = [{"CurrentCount": 3}, {"TargetCount": 2}, {}]
    sagemaker.describe_cluster = lambda *, ClusterName: {"ClusterArn": ARN, "InstanceGroups": groups}  # pyright: ignore
    observer({"train": "hyperpod"}, sagemaker=sagemaker, logs=Logs(), cloudwatch=cloudwatch).look_at_all()
    assert cloudwatch.of("train")["NODES_MISSING"] == 2


def test_two_thousand_nodes_take_twenty_calls() -> None:
    sagemaker, cloudwatch = SageMaker({"train": ["Running"] * 2000}), CloudWatch()
    observer({"train": "hyperpod"}, sagemaker=sagemaker, logs=Logs(), cloudwatch=cloudwatch).look_at_all()
    assert sagemaker.calls == 20
    assert cloudwatch.of("train")["NODES_RUNNING"] == 2000


def test_a_missing_cluster_is_skipped_and_publishes_nothing() -> None:
    cloudwatch = CloudWatch()
    seen = observer({"gone": "hyperpod"}, sagemaker=SageMaker({}), logs=Logs(), cloudwatch=cloudwatch).look_at_all()
    assert seen == {"gone": {}}
    assert cloudwatch.data == []


def test_an_error_of_one_cluster_does_not_affect_the_others() -> None:
    sagemaker = SageMaker({"shut": rejection("AccessDeniedException", "no"), "train": ["Running"]})
    cloudwatch = CloudWatch()
    with pytest.raises(NotAllSeen, match=r"^shut$"):
        observer(
            {"shut": "hyperpod", "train": "hyperpod"}, sagemaker=sagemaker, logs=Logs(), cloudwatch=cloudwatch
        ).look_at_all()
    assert cloudwatch.of("train")["NODES_RUNNING"] == 1


def test_a_cluster_that_is_being_created_gets_its_log_group_immediately() -> None:
    logs = Logs()
    detail = {"ClusterName": "train", "ClusterArn": ARN, "ClusterStatus": "Creating"}
    assert observer({"train": "hyperpod"}, logs=logs).on_state_change(detail) == "made"
    assert logs.groups == {GROUP: {"logGroupName": GROUP, "retentionInDays": 90}}


@pytest.mark.parametrize(
    "change", [{"ClusterName": "other"}, {"ClusterStatus": "Deleting"}, {"ClusterArn": ""}, {"ClusterName": "pc"}]
)
def test_other_or_deleted_clusters_get_no_log_group(change: dict[str, str]) -> None:
    logs = Logs()
    detail = {"ClusterName": "train", "ClusterArn": ARN, "ClusterStatus": "Creating", **change}
    assert observer({"train": "hyperpod", "pc": "parallelcluster"}, logs=logs).on_state_change(detail) == "skipped"
    assert logs.groups == {}


@pytest.mark.parametrize(
    ("logs", "key", "done", "writes"),
    [
        (Logs(), "", "made", 2),
        (Logs(), "arn:key", "made", 3),
        (Logs({GROUP: {}}), "", "adopted", 1),
        (Logs({GROUP: {"retentionInDays": 7}}), "", "adopted", 1),
        (Logs({GROUP: {"retentionInDays": 90}}), "", "kept", 0),
        (Logs({GROUP: {"retentionInDays": 90}}), "arn:key", "adopted", 2),
        (Logs({f"{GROUP}-other": {"retentionInDays": 90}}), "", "made", 2),
        (Logs(races=True), "", "adopted", 2),
    ],
)
def test_a_log_group_is_created_adopted_or_not_changed(logs: Logs, key: str, done: str, writes: int) -> None:
    assert keep_log_group(logs, GROUP, days=90, key_arn=key) == done
    assert logs.writes == writes
    assert logs.groups[GROUP]["retentionInDays"] == 90
    assert keep_log_group(logs, GROUP, days=90, key_arn=key) == "kept"
    assert logs.writes == writes


@pytest.mark.parametrize(
    ("state", "system", "own", "impaired"),
    [
        ("running", "ok", "ok", False),
        ("running", "impaired", "ok", True),
        ("running", "ok", "impaired", True),
        ("running", "initializing", "initializing", False),
        ("stopped", "ok", "ok", True),
        ("pending", "ok", "ok", False),
        (None, "ok", "ok", None),
    ],
)
def test_a_head_node_is_impaired_by_state_or_status_checks(
    state: str | None, system: str, own: str, impaired: bool | None
) -> None:
    def describe_instances(*, Filters: list[dict[str, Any]]) -> dict[str, Any]:
        assert {one["Name"]: one["Values"][0] for one in Filters}["tag:parallelcluster:cluster-name"] == "pc"
        head = {"InstanceId": "i-1", "State": {"Name": state}}
        return {"Reservations": [{"Instances": [head]}] if state else []}

    def describe_instance_status(*, InstanceIds: list[str]) -> dict[str, Any]:
        assert InstanceIds == ["i-1"]
        return {"InstanceStatuses": [{"SystemStatus": {"Status": system}, "InstanceStatus": {"Status": own}}]}

    ec2 = SimpleNamespace(describe_instances=describe_instances, describe_instance_status=describe_instance_status)
    assert head_node_is_impaired(ec2, "pc") is impaired
