"""HyperPod clusters: every field is kept, updates work, and the service's own rules apply.

moto supports 38 instance types of 209, fails without `ThreadsPerCore` or `LifeCycleConfig`, returns six fields only,
lacks `UpdateCluster`, and checks neither network, role nor script. Ids, ARNs and addresses have AWS's formats.

Source: model botocore sagemaker UpdateCluster
"""

from typing import Any

from moto.sagemaker.models import SageMakerModelBackend
from moto.sagemaker.responses import SageMakerResponse

from llm_fleet_local.aws.resources.moto_fixes.cluster_context import is_controller, missing_resources
from llm_fleet_local.aws.resources.moto_fixes.cluster_record import ClusterRecord
from llm_fleet_local.aws.resources.moto_fixes.cluster_rules import rule_problems
from llm_fleet_local.aws.resources.moto_fixes.json_api import Rejected, install_operation, known_members

_INVALID = "ValidationException"
_FIXED = ("OverrideVpcConfig", "InstanceType", "ThreadsPerCore", "ExecutionRole")


def install() -> None:
    """Replace moto's cluster operations."""
    for operation, handler in (
        ("CreateCluster", _create),
        ("UpdateCluster", _update),
        ("DescribeCluster", _describe),
        ("DeleteCluster", _delete),
        ("ListClusterNodes", _list_nodes),
        ("DescribeClusterNode", _describe_node),
    ):
        install_operation(SageMakerResponse, "sagemaker", operation, handler, invalid=_INVALID)
    SageMakerModelBackend.add_tags = _add_tags


def _clusters(response: Any) -> dict[str, Any]:
    return response.sagemaker_backend.clusters


def _reject(response: Any, requested: dict[str, Any]) -> None:
    """Reject a cluster for the errors of cluster_rules.py and cluster_context.py, which name the source of each.

    Source: assumption service-error-texts
    """
    problems = rule_problems(requested) + missing_resources(requested, response.current_account, response.region)
    if problems:
        raise Rejected(_INVALID, "Validation Error: " + "; ".join(problems))


def _create(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    name = params["ClusterName"]
    if any(one.cluster_name == name for one in _clusters(response).values()):
        # Source: model botocore sagemaker CreateCluster (ResourceInUse)
        # Source: assumption service-error-texts
        raise Rejected("ResourceInUse", f"Resource Already Exists: Cluster with name {name} already exists.")
    _reject(response, params)
    made = ClusterRecord(params, response.region, response.current_account)
    _clusters(response)[made.cluster_id] = made  # key: last part of the ARN, where moto looks for the tags
    return {"ClusterArn": made.arn}


def _update(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    found = _cluster(response, params["ClusterName"])
    names = {group["InstanceGroupName"] for group in found.groups}
    unknown = sorted(set(params.get("InstanceGroupsToDelete", ())) - names)
    if unknown:
        # Source: assumption hyperpod-rules-across-fields
        raise Rejected(_INVALID, f"unknown instance groups: {', '.join(unknown)}")
    requested = found.after(params)
    _reject(response, requested)
    _reject_groups(found, requested, response.current_account)
    found.update(requested)
    return {"ClusterArn": found.arn}


def _reject_groups(found: ClusterRecord, requested: dict[str, Any], account: str) -> None:
    """Reject changes of a group's fixed settings, and the removal of Slurm's controller nodes.

    Source: document https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-operate-slurm-cli-command.html
    (2026-11): "You cannot remove instances that are configured as Slurm controller nodes"
    Source: assumption service-error-texts
    """
    new = {one["InstanceGroupName"]: one for one in requested.get("InstanceGroups", [])}
    for old in found.groups:
        name = old["InstanceGroupName"]
        wanted = new.get(name, {}).get("InstanceCount", 0)
        if wanted < old["InstanceCount"] and is_controller(old, account):
            raise Rejected(_INVALID, f"Validation Error: NODE_ID_IN_USE: {name} has Slurm's controller nodes")
        if name in new:
            _reject_fixed(old, new[name])
            _reject_types(found, new[name])


def _reject_fixed(old: dict[str, Any], group: dict[str, Any]) -> None:
    """Reject other subnets, and a changed node type; setting one for the first time is allowed.

    AWS's documents differ about instance type, threads and role; the stricter one applies here.

    Source: assumption hyperpod-refuses-change-of-group-network-and-node-type
    Source: assumption hyperpod-refuses-change-of-instance-type
    Source: document
    https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-slurm-api-config-migration.html (2026-11)
    """
    changed = [key for key in _FIXED if old.get(key) != group.get(key)]
    if _node_type(old) not in (None, _node_type(group)):
        changed.insert(0, "NodeType")
    if changed:
        raise Rejected(_INVALID, f"Validation Error: {changed[0]} of {old['InstanceGroupName']} cannot be updated")


def _reject_types(found: ClusterRecord, group: dict[str, Any]) -> None:
    """Reject the removal of an instance type from a group with several while nodes of the type run.

    Source: document
    https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks-operate-cli-command-update-cluster.html
    (2026-11): "you cannot remove an instance type that has active nodes running on it"
    Source: assumption service-error-texts
    """
    types = group.get("InstanceRequirements", {}).get("InstanceTypes")
    name = group["InstanceGroupName"]
    running = {node["InstanceType"] for node in found.nodes.values() if node["InstanceGroupName"] == name}
    if types is not None and running - set(types):
        raise Rejected(
            _INVALID, f"Validation Error: {name} has active nodes of {', '.join(sorted(running - set(types)))}"
        )


def _node_type(group: dict[str, Any]) -> str | None:
    return group.get("SlurmConfig", {}).get("NodeType")


def _describe(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    return _cluster(response, params["ClusterName"]).describe()


def _delete(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    found = _cluster(response, params["ClusterName"])
    found.take_down()
    del _clusters(response)[found.cluster_id]
    return {"ClusterArn": found.arn}


def _list_nodes(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    part = params.get("InstanceGroupNameContains", "")
    nodes = [
        one for one in _cluster(response, params["ClusterName"]).nodes.values() if part in one["InstanceGroupName"]
    ]
    begin, size = int(params.get("NextToken", 0)), params.get("MaxResults", 100)
    shown = [known_members("sagemaker", "ClusterNodeSummary", one) for one in nodes[begin : begin + size]]
    if not params.get("IncludeNodeLogicalIds"):
        for one in shown:
            one.pop("NodeLogicalId", None)
    more = {"NextToken": str(begin + size)} if begin + size < len(nodes) else {}
    return {"ClusterNodeSummaries": shown} | more


def _describe_node(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    found = _cluster(response, params["ClusterName"])
    wanted = {params.get("NodeId"), params.get("NodeLogicalId")} - {None}
    for node in found.nodes.values():
        if wanted & {node["InstanceId"], node.get("NodeLogicalId")}:
            return {"NodeDetails": known_members("sagemaker", "ClusterNodeDetails", node)}
    # Source: model botocore sagemaker DescribeClusterNode (ResourceNotFound)
    # Source: assumption service-error-texts
    raise Rejected(
        "ResourceNotFound", f"Node {', '.join(map(str, wanted))} does not exist in cluster {found.cluster_name}"
    )


def _cluster(response: Any, name_or_arn: str) -> Any:
    for one in _clusters(response).values():
        if name_or_arn in (one.cluster_name, one.arn):
            return one
    # Source: model botocore sagemaker DescribeCluster (ResourceNotFound)
    # Source: assumption service-error-texts
    raise Rejected("ResourceNotFound", f"Cluster with name {name_or_arn} not found")


def _add_tags(self: Any, arn: str, tags: list[dict[str, str]]) -> list[dict[str, str]]:
    """Set tags as SageMaker does: an existing key gets the new value."""
    resource = self._get_resource_from_arn(arn)
    keys = {tag["Key"] for tag in tags}
    resource.tags = [tag for tag in resource.tags if tag["Key"] not in keys] + tags
    return resource.tags
