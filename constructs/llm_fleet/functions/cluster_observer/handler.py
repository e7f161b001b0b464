"""Publishes metrics of clusters for alarms, and sets the retention of their log groups."""

import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

HYPERPOD, PARALLELCLUSTER = "hyperpod", "parallelcluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Clusters, metrics and log groups of the function."""

    clusters: Mapping[str, str]
    """Kind of each cluster by its name: `hyperpod` or `parallelcluster`."""
    namespace: str
    dimension: str
    metrics: Mapping[str, str]
    """Metric names by key."""
    log_group: str
    """Prefix of HyperPod's log groups."""
    retention_days: int
    key_arn: str
    """KMS key ARN of the log groups; empty: CloudWatch's own encryption."""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        """Read the environment variables. Raises `KeyError` for a missing variable."""
        return cls(
            clusters=json.loads(environment["CLUSTERS"]),
            namespace=environment["NAMESPACE"],
            dimension=environment["DIMENSION"],
            metrics=json.loads(environment["METRICS"]),
            log_group=environment["LOG_GROUP"],
            retention_days=int(environment["RETENTION_DAYS"]),
            key_arn=environment.get("KEY_ARN", ""),
        )


_GONE = "not found"
_FAILED, _PENDING, _RUNNING = "Failure", "Pending", "Running"


def look_at_hyperpod(sagemaker: Any, name: str) -> tuple[str, dict[str, int]] | None:
    """Return the ARN of the cluster `name` and its node counts by state; `None` for a missing cluster.

    Missing nodes: the target counts of its groups minus the current counts.
    """
    try:
        cluster = sagemaker.describe_cluster(ClusterName=name)
        pages = sagemaker.get_paginator("list_cluster_nodes").paginate(ClusterName=name, PaginationConfig=_LARGE)
        statuses = Counter(node["InstanceStatus"]["Status"] for page in pages for node in page["ClusterNodeSummaries"])
    except ClientError as error:
        if _is_gone(error):
            return None
        raise
    groups: list[dict[str, Any]] = cluster["InstanceGroups"]
    return cluster["ClusterArn"], {
        "nodes_running": statuses[_RUNNING],
        "nodes_pending": statuses[_PENDING],
        "nodes_missing": sum(map(_missing, groups)),
        "nodes_failed": statuses[_FAILED],
    }


def _missing(group: dict[str, Any]) -> int:
    """Return the missing nodes of a group; 0 without its counts, which are optional in the API model."""
    current = group.get("CurrentCount", 0)
    return max(0, group.get("TargetCount", current) - current)


_LARGE = {"PageSize": 100}
"""Maximum page size of ListClusterNodes (botocore 1.44.5): twenty calls for 2,000 nodes."""


def _is_gone(error: ClientError) -> bool:
    """SageMaker returns ResourceNotFound, or for some calls ValidationException with this text."""
    details = error.response.get("Error", {})
    return details.get("Code") == "ResourceNotFound" or _GONE in details.get("Message", "").lower()


_TAGS = ("parallelcluster:cluster-name", "parallelcluster:node-type")
_HEAD = "HeadNode"
_RUNS = ("pending", "running", "stopping", "stopped")


def head_node_is_impaired(ec2: Any, cluster: str) -> bool | None:
    """Return whether the head node of `cluster` is stopped or fails a status check; `None` without a head node."""
    wanted = [
        {"Name": f"tag:{_TAGS[0]}", "Values": [cluster]},
        {"Name": f"tag:{_TAGS[1]}", "Values": [_HEAD]},
        {"Name": "instance-state-name", "Values": list(_RUNS)},
    ]
    found = [one for page in ec2.describe_instances(Filters=wanted)["Reservations"] for one in page["Instances"]]
    if not found:
        return None
    head = found[0]
    if head["State"]["Name"] != "running":
        return head["State"]["Name"] != "pending"
    statuses = ec2.describe_instance_status(InstanceIds=[head["InstanceId"]])["InstanceStatuses"]
    return any(
        status[which]["Status"] == "impaired" for status in statuses for which in ("SystemStatus", "InstanceStatus")
    )


_THERE = "ResourceAlreadyExistsException"


def keep_log_group(logs: Any, name: str, *, days: int, key_arn: str) -> str:
    """Create the log group `name` if missing, and set its retention of `days` and its KMS key unless empty.

    Returns `made`, `adopted` for one with a different retention or key, or `kept`. Repeated calls are harmless, also
    while HyperPod creates the log group at the same time. Nothing is ever deleted.
    """
    found = _find(logs, name)
    if found is None and _make(logs, name):
        _set(logs, name, days=days, key_arn=key_arn)
        return "made"
    there = found or {}
    if there.get("retentionInDays") == days and (not key_arn or there.get("kmsKeyId") == key_arn):
        return "kept"
    _set(logs, name, days=days, key_arn=key_arn)
    return "adopted"


def _find(logs: Any, name: str) -> dict[str, Any] | None:
    groups: list[dict[str, Any]] = logs.describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    return next((group for group in groups if group["logGroupName"] == name), None)


def _make(logs: Any, name: str) -> bool:
    try:
        logs.create_log_group(logGroupName=name)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") == _THERE:
            return False
        raise
    return True


def _set(logs: Any, name: str, *, days: int, key_arn: str) -> None:
    logs.put_retention_policy(logGroupName=name, retentionInDays=days)
    if key_arn:
        logs.associate_kms_key(logGroupName=name, kmsKeyId=key_arn)


_LOG = logging.getLogger(__name__)
_MOST_METRICS = 1000
"""Maximum number of metrics in one PutMetricData call."""


class NotAllSeen(Exception):
    """Some clusters could not be described; the log has the reasons."""


class Observer:
    """One run over all clusters, or over one whose state has changed."""

    def __init__(self, settings: Settings, client: Callable[[str], Any]) -> None:
        """`client`: returns a boto3 client by service name."""
        self._settings = settings
        self._client = client

    def look_at_all(self) -> dict[str, dict[str, int]]:
        """Publish the metrics of each cluster, and return them by cluster.

        A missing cluster is skipped. After an error of one cluster, the others are still checked; then `NotAllSeen` is
        raised, so that Lambda counts an error.
        """
        seen: dict[str, dict[str, int]] = {}
        failed: list[str] = []
        for name, kind in self._settings.clusters.items():
            try:
                seen[name] = self._hyperpod(name) if kind == HYPERPOD else self._parallelcluster(name)
            except Exception:
                _LOG.exception("%s could not be described", name)
                failed.append(name)
        self._publish(seen)
        if failed:
            raise NotAllSeen(", ".join(failed))
        return seen

    def on_state_change(self, detail: Mapping[str, Any]) -> str:
        """Create the log group of a cluster before its first node writes; return what was done.

        Only for an existing cluster in the settings.
        """
        arn, status = str(detail.get("ClusterArn", "")), str(detail.get("ClusterStatus"))
        name = str(detail.get("ClusterName", ""))
        if self._settings.clusters.get(name) != HYPERPOD or ":cluster/" not in arn or status == "Deleting":
            return "skipped"
        return self._keep_log_group(name, arn)

    def _hyperpod(self, name: str) -> dict[str, int]:
        found = look_at_hyperpod(self._client("sagemaker"), name)
        if found is None:
            return {}
        arn, counted = found
        self._keep_log_group(name, arn)
        return counted

    def _parallelcluster(self, name: str) -> dict[str, int]:
        impaired = head_node_is_impaired(self._client("ec2"), name)
        return {} if impaired is None else {"head_node_impaired": int(impaired)}

    def _keep_log_group(self, name: str, arn: str) -> str:
        group = f"{self._settings.log_group}/{name}/{arn.rpartition('/')[2]}"
        done = keep_log_group(
            self._client("logs"), group, days=self._settings.retention_days, key_arn=self._settings.key_arn
        )
        if done != "kept":
            _LOG.info("log group %s %s, retention %d days", group, done, self._settings.retention_days)
        return done

    def _publish(self, seen: Mapping[str, Mapping[str, int]]) -> None:
        data = [
            {
                "MetricName": self._settings.metrics[key],
                "Dimensions": [{"Name": self._settings.dimension, "Value": name}],
                "Value": value,
                "Unit": "Count",
            }
            for name, counted in seen.items()
            for key, value in counted.items()
        ]
        for start in range(0, len(data), _MOST_METRICS):
            self._client("cloudwatch").put_metric_data(
                Namespace=self._settings.namespace, MetricData=data[start : start + _MOST_METRICS]
            )


logging.getLogger().setLevel(logging.INFO)
_STATE = "SageMaker HyperPod Cluster State Change"
_CONFIG = Config(connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 5, "mode": "standard"})


@cache
def _client(service: str) -> Any:
    return boto3.client(service, config=_CONFIG)  # pyright: ignore[reportUnknownMemberType, reportArgumentType, reportCallIssue]


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Publish metrics of all clusters; for a state change event, only create the log group. Returns the result."""
    observer = Observer(Settings.read(os.environ), _client)
    if event.get("detail-type") == _STATE:
        return {"log_group": observer.on_state_change(event.get("detail") or {})}
    return {"seen": observer.look_at_all()}
