"""ECS clusters: a cluster in use cannot be deleted, and a deleted one accepts no services or hosts.

moto marks every cluster as inactive on request. Hosts do not boot here, so no host registers itself. An instance
counts as registered if its user data names the cluster (`ECS_CLUSTER=<name>`, or `"cluster": "<name>"` in the input of
llm-fleet's scripts), or if a user registers it with the API.

Source: model botocore ecs ClusterContainsServicesException
Source: model botocore ecs ClusterContainsContainerInstancesException
Source: model botocore ecs ClusterContainsCapacityProviderException
"""

from typing import Any

from moto.autoscaling.models import autoscaling_backends
from moto.ecs.exceptions import ECSException
from moto.ecs.models import Cluster
from moto.ecs.responses import EC2ContainerServiceResponse

from llm_fleet_local.aws.resources.moto_fixes.ecs_container_instances import joins
from llm_fleet_local.aws.resources.moto_fixes.kept_members import before, once


def install() -> None:
    """Check deletions."""
    if once(Cluster, "in_use"):
        before(EC2ContainerServiceResponse, "delete_cluster", _check)


def _check(response: Any, given: dict[str, Any]) -> None:
    backend = response.ecs_backend
    cluster = backend._get_cluster(given["cluster"])
    services = [
        one.name
        for one in backend.services.values()
        if one.cluster_name == cluster.name and one.status == "ACTIVE"
    ]  # fmt: skip
    if services:
        raise ECSException(
            "ClusterContainsServicesException", f"The Cluster cannot be deleted while Services are active: {services}"
        )
    hosts = [*backend.container_instances.get(cluster.name, {}), *_hosts(response, cluster.name)]
    if hosts:
        raise ECSException(
            "ClusterContainsContainerInstancesException",
            f"The Cluster cannot be deleted while Container Instances are active or draining: {hosts}",
        )
    own = [one.name for one in backend.capacity_providers.values() if getattr(one, "cluster", "") == cluster.name]
    if own:
        raise ECSException(
            "ClusterContainsCapacityProviderException",
            f"The Cluster cannot be deleted while it has capacity providers of Managed Instances: {own}",
        )


def _hosts(response: Any, cluster: str) -> list[str]:
    """Return the instances of Auto Scaling groups whose launch template registers them with the cluster."""
    groups = autoscaling_backends[response.current_account][response.region].autoscaling_groups
    return [
        str(state.instance.id) for group in groups.values() if joins(group, cluster) for state in group.instance_states
    ]
