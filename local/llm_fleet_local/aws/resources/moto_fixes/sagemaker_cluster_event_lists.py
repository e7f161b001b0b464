"""ListClusterEvents of HyperPod: events without the members that only DescribeClusterEvent returns.

Tests add the events with `LocalAws.report_cluster_event`. According to the API reference, only clusters with continuous
provisioning have events.

Source: model botocore sagemaker DescribeClusterEvent
"""

from typing import Any

from moto.sagemaker.responses import SageMakerResponse

from llm_fleet_local.aws.resources.moto_fixes.json_api import Rejected, install_operation, known_members
from llm_fleet_local.aws.resources.moto_fixes.sagemaker_cluster_events import events_of

_INVALID, _MISSING = "ValidationException", "ResourceNotFound"
_PAGE = 100
_FILTERS = {"InstanceGroupName": "InstanceGroupName", "NodeId": "InstanceId", "ResourceType": "ResourceType"}


def install() -> None:
    """Serve ListClusterEvents."""
    install_operation(SageMakerResponse, "sagemaker", "ListClusterEvents", _list, invalid=_INVALID)


def _list(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    cluster = _cluster(response, params["ClusterName"])
    if cluster.requested.get("NodeProvisioningMode") != "Continuous":
        # Source: model botocore sagemaker ListClusterEvents
        # Source: assumption service-error-texts
        raise Rejected(
            _INVALID, "ListClusterEvents is supported only for clusters with NodeProvisioningMode Continuous"
        )
    found = [
        one for one in events_of(response.current_account, response.region) if _requested_for(one, cluster, params)
    ]
    found.sort(key=lambda one: one["EventTime"], reverse=params.get("SortOrder", "Descending") == "Descending")
    begin, size = int(params.get("NextToken", 0)), params.get("MaxResults", _PAGE)
    shown = [known_members("sagemaker", "ClusterEventSummary", one) for one in found[begin : begin + size]]
    more = {"NextToken": str(begin + size)} if begin + size < len(found) else {}
    return {"Events": shown} | more


def _requested_for(event: dict[str, Any], cluster: Any, params: dict[str, Any]) -> bool:
    if event["ClusterArn"] != cluster.arn:
        return False
    if any(name in params and event.get(member) != params[name] for name, member in _FILTERS.items()):
        return False
    after, before = params.get("EventTimeAfter", 0.0), params.get("EventTimeBefore", float("inf"))
    return float(after) <= float(event["EventTime"]) <= float(before)


def _cluster(response: Any, name_or_arn: str) -> Any:
    for one in response.sagemaker_backend.clusters.values():
        if name_or_arn in (one.cluster_name, one.arn):
            return one
    # Source: model botocore sagemaker ListClusterEvents (ResourceNotFound)
    # Source: assumption service-error-texts
    raise Rejected(_MISSING, f"Cluster with name {name_or_arn} not found")
