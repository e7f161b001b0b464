"""ECS capacity providers: Managed Instances, every setting, and no deletion while in use.

moto supports Auto Scaling groups only, drops managed draining, and deletes providers in use.
"""

from types import SimpleNamespace
from typing import Any

from moto.autoscaling.models import autoscaling_backends
from moto.core.responses import ActionResult
from moto.ecs.exceptions import EcsClientException, ECSException, InvalidParameterException
from moto.ecs.models import CapacityProvider, EC2ContainerServiceBackend
from moto.ecs.responses import EC2ContainerServiceResponse

from llm_fleet_local.aws.resources.moto_fixes.kept_members import before, once

_RESERVED = ("aws", "ecs", "fargate")
_FARGATE = ("FARGATE", "FARGATE_SPOT")
_SCALING = {
    "status": "DISABLED",
    "targetCapacity": 100,
    "minimumScalingStepSize": 1,
    "maximumScalingStepSize": 10000,
    "instanceWarmupPeriod": 300,
}


def install() -> None:
    """Replace moto's operations on capacity providers, and validate the providers of clusters."""
    if not once(CapacityProvider, "rules"):
        return
    for operation in (create_capacity_provider, update_capacity_provider, delete_capacity_provider):
        setattr(EC2ContainerServiceResponse, operation.__name__, operation)
    before(EC2ContainerServiceResponse, "put_cluster_capacity_providers", _check_association)
    before(EC2ContainerServiceResponse, "create_cluster", _check_new_cluster)


def users_of(backend: EC2ContainerServiceBackend, name: str) -> list[str]:
    """Return the services with a capacity provider in their strategy."""
    return [
        str(service.name)
        for service in backend.services.values()
        if service.status == "ACTIVE" and name in [one["capacityProvider"] for one in strategy_of(service)]
    ]


def strategy_of(service: Any) -> list[dict[str, Any]]:
    """Return a service's capacity provider strategy."""
    return getattr(service, "capacityProviderStrategy", None) or []


def create_capacity_provider(self: Any) -> ActionResult:
    """Serve `CreateCapacityProvider`."""
    given: dict[str, Any] = self._get_params()
    name = given["name"]
    # Source: model botocore ecs CreateCapacityProviderRequest (name)
    # Source: assumption service-error-texts
    if name.lower().startswith(_RESERVED):
        raise EcsClientException(
            f"The specified capacity provider name is invalid: {name}. It must not begin with {', '.join(_RESERVED)}"
        )
    # Source: assumption ecs-capacity-provider-refusals
    if self.ecs_backend._get_provider(name):
        raise EcsClientException(f"A capacity provider with the name {name} already exists")
    kinds = [kind for kind in ("autoScalingGroupProvider", "managedInstancesProvider") if kind in given]
    # Source: assumption ecs-capacity-provider-refusals
    # Source: assumption ecs-capacity-provider-of-one-kind
    if len(kinds) != 1:
        raise EcsClientException("set exactly one of autoScalingGroupProvider and managedInstancesProvider")
    arn = f"arn:aws:ecs:{self.region}:{self.current_account}:capacity-provider/{name}"
    made = SimpleNamespace(name=name, capacity_provider_arn=arn, status="ACTIVE", tags=given.get("tags"))
    if kinds == ["managedInstancesProvider"]:
        _managed(self, made, given)
    else:
        made.type = "EC2_AUTOSCALING"
        made.autoScalingGroupProvider = _group_provider(self, given["autoScalingGroupProvider"], name)
    self.ecs_backend.capacity_providers[name] = made
    return ActionResult({"capacityProvider": made})


def update_capacity_provider(self: Any) -> ActionResult:
    """Serve `UpdateCapacityProvider`: given settings replace the old ones."""
    given: dict[str, Any] = self._get_params()
    found = _provider(self, given["name"])
    if "autoScalingGroupProvider" in given:
        had = found.autoScalingGroupProvider
        requested = {**had, **given["autoScalingGroupProvider"]}
        found.autoScalingGroupProvider = _group_provider(self, requested, found.name)
    if "managedInstancesProvider" in given:
        had = found.managedInstancesProvider
        template = {**had["instanceLaunchTemplate"], **given["managedInstancesProvider"]["instanceLaunchTemplate"]}
        found.managedInstancesProvider = {
            **had,
            **given["managedInstancesProvider"],
            "instanceLaunchTemplate": template,
        }
    found.updateStatus = "UPDATE_COMPLETE"
    return ActionResult({"capacityProvider": found})


def delete_capacity_provider(self: Any) -> ActionResult:
    """Serve `DeleteCapacityProvider`: the answer reports a failure while a cluster or a service uses the provider.

    Source: model botocore ecs DeleteCapacityProvider
    Source: assumption ecs-refuses-what-is-in-use
    """
    found = _provider(self, self._get_param("capacityProvider"))
    users = users_of(self.ecs_backend, found.name)
    if not hasattr(found, "cluster"):
        users += [one.name for one in _living(self) if found.name in (one.capacity_providers or ())]
    if users:
        found.updateStatus = "DELETE_FAILED"
        found.updateStatusReason = (
            f"The capacity provider cannot be deleted because it is associated with {', '.join(users)}: {found.name}"
        )
        return ActionResult({"capacityProvider": found})
    for cluster in _living(self):
        cluster.capacity_providers = [one for one in cluster.capacity_providers or () if one != found.name]
    del self.ecs_backend.capacity_providers[found.name]
    found.updateStatus, found.updateStatusReason = "DELETE_COMPLETE", None
    return ActionResult({"capacityProvider": found})


def _provider(response: Any, name: str) -> Any:
    found = response.ecs_backend._get_provider(name)
    if found is None:
        # Source: recorded terraform-aws-modules/terraform-aws-ecs#53, a missing provider is rejected
        # (2022-02-09)
        # Source: assumption service-error-texts
        raise EcsClientException(f"The specified capacity provider does not exist: NotFound: {name}")
    return found


def _living(response: Any) -> list[Any]:
    return [one for one in response.ecs_backend.clusters.values() if one.status == "ACTIVE"]


def _managed(response: Any, made: Any, given: dict[str, Any]) -> None:
    """A provider of Managed Instances belongs to one cluster, and is active immediately."""
    made.type = "MANAGED_INSTANCES"
    made.cluster = given.get("cluster", "default").rsplit("/", 1)[-1]
    made.managedInstancesProvider = given["managedInstancesProvider"]
    cluster = response.ecs_backend._get_cluster(made.cluster)
    if cluster.status != "ACTIVE":
        # Source: model botocore ecs ClusterNotFoundException
        # Source: assumption service-error-texts
        raise ECSException("ClusterNotFoundException", "Cluster not found.")
    cluster.capacity_providers = [*(cluster.capacity_providers or ()), made.name]


def _group_provider(response: Any, requested: dict[str, Any], name: str) -> dict[str, Any]:
    groups = autoscaling_backends[response.current_account][response.region].autoscaling_groups
    wanted = requested["autoScalingGroupArn"]
    group = next((one for one in groups.values() if wanted in (one.name, one.arn)), None)
    if group is None:
        # Source: model botocore ecs AutoScalingGroupProvider (autoScalingGroupArn)
        # Source: assumption service-error-texts
        raise EcsClientException(f"The specified Auto Scaling group ARN is not valid: {wanted}")
    for other in response.ecs_backend.capacity_providers.values():
        provider: dict[str, Any] = getattr(other, "autoScalingGroupProvider", {})
        if other.name != name and provider.get("autoScalingGroupArn") == group.arn:
            # Source: recorded aws/containers-roadmap#632, text of the error (2019-12-06)
            raise EcsClientException(
                "The specified Auto Scaling group ARN is already being used by another capacity provider. "
                f"Specify a unique Auto Scaling group ARN and try again: {other.name} uses {group.name}"
            )
    scaling = {**_SCALING, **requested.get("managedScaling", {})}
    settings = {"managedTerminationProtection": "DISABLED", "managedDraining": "ENABLED"} | requested
    if settings["managedTerminationProtection"] == "ENABLED":
        if scaling["status"] != "ENABLED":
            # Source: model botocore ecs AutoScalingGroupProvider (managedTerminationProtection)
            # Source: assumption service-error-texts
            raise InvalidParameterException(
                "To enable managed termination protection for a capacity provider, managed scaling must be enabled."
            )
        if not group.new_instances_protected_from_scale_in:
            # Source: document
            # https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-termination-protection.html (2026-11)
            # Source: recorded aws/containers-roadmap#653, text of the error (2020-04-14)
            raise InvalidParameterException(
                "The managed termination protection setting for the capacity provider is invalid. To enable managed "
                "termination protection for a capacity provider, the Auto Scaling group must have instance protection "
                "from scale in enabled."
            )
    return settings | {"autoScalingGroupArn": group.arn, "managedScaling": scaling}


def _check_association(response: Any, given: dict[str, Any]) -> None:
    cluster = response.ecs_backend._get_cluster(given["cluster"])
    wanted: list[str] = given["capacityProviders"]
    _check_names(response, wanted, given["defaultCapacityProviderStrategy"])
    for name in cluster.capacity_providers or ():
        provider = response.ecs_backend._get_provider(name)
        if name in wanted or provider is None:
            continue
        # A provider of Managed Instances names its cluster itself, so the association stays.
        if hasattr(provider, "cluster"):
            given["capacityProviders"] = wanted = [*wanted, name]
        elif users := users_of(response.ecs_backend, name):
            # Source: model botocore ecs PutClusterCapacityProviders (ResourceInUseException)
            # Source: recorded pahud/cdk-fargate-patterns#71, text of the error (2021-07-16)
            raise ECSException(
                "ResourceInUseException",
                f"The specified capacity provider is in use and cannot be removed: {name} by {', '.join(users)}",
            )


def _check_new_cluster(response: Any, given: dict[str, Any]) -> None:
    _check_names(response, given.get("capacityProviders", []), given.get("defaultCapacityProviderStrategy", []))


def _check_names(response: Any, wanted: list[str], strategy: list[dict[str, Any]]) -> None:
    for name in wanted:
        if name not in _FARGATE:
            _provider(response, name)
    for one in strategy:
        if one["capacityProvider"] not in wanted:
            # Source: model botocore ecs PutClusterCapacityProvidersRequest (defaultCapacityProviderStrategy)
            # Source: assumption service-error-texts
            raise InvalidParameterException(
                f"The default capacity provider strategy names {one['capacityProvider']}, which is not associated "
                "with the cluster."
            )
