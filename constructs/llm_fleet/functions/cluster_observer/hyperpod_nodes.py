"""How the nodes of a HyperPod cluster stand, counted."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

_GONE = "not found"
_FAILED, _PENDING, _RUNNING = "Failure", "Pending", "Running"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """One cluster, as SageMaker tells of it."""

    arn: str
    running: int
    pending: int
    missing: int
    """Nodes that its groups want and do not have."""
    failed: int


def look_at_hyperpod(sagemaker: Any, name: str) -> Cluster | None:
    """Return how the nodes of the cluster `name` stand; `None` when there is no such cluster."""
    try:
        cluster = sagemaker.describe_cluster(ClusterName=name)
        pages = sagemaker.get_paginator("list_cluster_nodes").paginate(ClusterName=name, PaginationConfig=_LARGE)
        statuses = Counter(node["InstanceStatus"]["Status"] for page in pages for node in page["ClusterNodeSummaries"])
    except ClientError as error:
        if _is_gone(error):
            return None
        raise
    groups: list[dict[str, Any]] = cluster["InstanceGroups"]
    return Cluster(
        arn=cluster["ClusterArn"],
        running=statuses[_RUNNING],
        pending=statuses[_PENDING],
        missing=sum(map(_missing, groups)),
        failed=statuses[_FAILED],
    )


def _missing(group: dict[str, Any]) -> int:
    """Return how many nodes a group lacks; both counts are optional in the service's model, and without them none."""
    current = group.get("CurrentCount", 0)
    return max(0, group.get("TargetCount", current) - current)


_LARGE = {"PageSize": 100}
"""The most that ListClusterNodes gives at a time (botocore 1.44.5): twenty calls for 2,000 nodes."""


def _is_gone(error: ClientError) -> bool:
    """SageMaker answers ResourceNotFound, and in some places ValidationException with these words."""
    told = error.response.get("Error", {})
    return told.get("Code") == "ResourceNotFound" or _GONE in told.get("Message", "").lower()
