"""Operations of HyperPod clusters: tests add them; they are listed and described by the API's rules.

They work for any cluster. Source: assumption hyperpod-operations-of-any-cluster
"""

from time import time
from typing import Any

from moto.sagemaker.responses import SageMakerResponse

from llm_fleet_local.aws.resources.moto_fixes.json_api import Rejected, install_operation, known_members

_INVALID, _MISSING = "ValidationException", "ResourceNotFound"
_PAGE = 100
_operations: dict[tuple[str, str, str], dict[str, Any]] = {}
"""By account, region and operation id."""


def install() -> None:
    """Serve ListClusterOperations and DescribeClusterOperation."""
    install_operation(SageMakerResponse, "sagemaker", "ListClusterOperations", _list, invalid=_INVALID)
    install_operation(SageMakerResponse, "sagemaker", "DescribeClusterOperation", _describe, invalid=_INVALID)


def report_cluster_operation(account: str, region: str, reported: dict[str, Any]) -> dict[str, Any]:
    """Add the operation `reported` (DescribeClusterOperation's response), or replace it."""
    before = _operations.get((account, region, reported["OperationId"]), {"CreationTime": time()})
    _operations[account, region, reported["OperationId"]] = {**before, **reported}
    return {}


def _list(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    arn = _cluster_arn(response, params["ClusterName"])
    found = [one for one in _of_account(response) if one["ClusterArn"] == arn and _is_requested_for(one, params)]
    found.sort(key=lambda one: one["CreationTime"], reverse=params.get("SortOrder", "Descending") == "Descending")
    begin, size = int(params.get("NextToken", 0)), params.get("MaxResults", _PAGE)
    shown = [known_members("sagemaker", "ClusterOperationSummary", one) for one in found[begin : begin + size]]
    more = {"NextToken": str(begin + size)} if begin + size < len(found) else {}
    return {"ClusterOperationSummaries": shown} | more


def _describe(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    arn = _cluster_arn(response, params["ClusterName"])
    for one in _of_account(response):
        if (one["OperationId"], one["ClusterArn"]) == (params["OperationId"], arn):
            return one
    # Source: model botocore sagemaker DescribeClusterOperation (ResourceNotFound)
    # Source: assumption service-error-texts
    raise Rejected(_MISSING, f"Operation {params['OperationId']} of cluster {params['ClusterName']} not found.")


def _is_requested_for(operation: dict[str, Any], params: dict[str, Any]) -> bool:
    if any(name in params and operation[name] != params[name] for name in ("Status", "Type")):
        return False
    after, before = params.get("CreationTimeAfter", 0.0), params.get("CreationTimeBefore", float("inf"))
    return float(after) <= float(operation["CreationTime"]) <= float(before)


def _of_account(response: Any) -> list[dict[str, Any]]:
    where = (response.current_account, response.region)
    return [one for (account, region, _), one in _operations.items() if (account, region) == where]


def _cluster_arn(response: Any, name_or_arn: str) -> str:
    for one in response.sagemaker_backend.clusters.values():
        if name_or_arn in (one.cluster_name, one.arn):
            return str(one.arn)
    # Source: model botocore sagemaker ListClusterOperations (ResourceNotFound)
    # Source: assumption service-error-texts
    raise Rejected(_MISSING, f"Cluster with name {name_or_arn} not found")
