"""Events of HyperPod clusters: tests create them, and DescribeClusterEvent returns them completely.

moto has none. As of mid-2026, EventBridge receives less than DescribeClusterEvent returns: the failure messages are
missing.

Source: model botocore sagemaker DescribeClusterEvent
"""

from time import time
from typing import Any, cast

from moto.sagemaker.responses import SageMakerResponse

from llm_fleet_local.aws.resources.moto_fixes.json_api import Rejected, install_operation

_MISSING = "ResourceNotFound"
_events: dict[tuple[str, str, str], dict[str, Any]] = {}
"""By account, region and event id."""


def install() -> None:
    """Serve DescribeClusterEvent."""
    install_operation(SageMakerResponse, "sagemaker", "DescribeClusterEvent", _describe, invalid="ValidationException")


def report_cluster_event(account: str, region: str, reported: dict[str, Any]) -> dict[str, Any]:
    """Record the event `reported` (DescribeClusterEvent's `EventDetails`); return what EventBridge receives."""
    _events[account, region, reported["EventId"]] = {"EventTime": time(), **reported}
    return _without_failures(reported)


def events_of(account: str, region: str) -> list[dict[str, Any]]:
    """Return all events of an account and region, complete."""
    return [event for (where, of, _), event in _events.items() if (where, of) == (account, region)]


def _describe(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    found = _events.get((response.current_account, response.region, params["EventId"]))
    if found is None or params["ClusterName"] not in (found["ClusterName"], found["ClusterArn"]):
        raise Rejected(_MISSING, f"Event {params['EventId']} of cluster {params['ClusterName']} not found.")
    return {"EventDetails": found}


def _without_failures(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    members = cast(dict[str, Any], value)
    return {key: None if key == "FailureMessage" else _without_failures(member) for key, member in members.items()}
