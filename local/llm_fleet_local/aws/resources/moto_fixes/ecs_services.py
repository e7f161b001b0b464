"""ECS services: every setting is kept, and a service that could not start a task is rejected.

moto drops the deployment configuration, the capacity provider strategy, placement and the grace period, and checks
neither target group nor network mode. Messages are ECS's own, as its documents and users quote them. No task runs. A
task that has a host counts as running and is a network interface in the service's subnets, so subnets and security
groups cannot be deleted before the service. The other tasks stay pending.

Source: model botocore ecs CreateService
Source: assumption service-error-texts
"""

from typing import Any

from moto.ecs.exceptions import InvalidParameterException
from moto.ecs.models import Service
from moto.ecs.responses import EC2ContainerServiceResponse

from llm_fleet_local.aws.resources.moto_fixes.ecs_container_instances import hosts_for
from llm_fleet_local.aws.resources.moto_fixes.ecs_service_rules import service_problems
from llm_fleet_local.aws.resources.moto_fixes.kept_members import after, before, keep_members, once
from llm_fleet_local.aws.resources.moto_fixes.network_rules import NetworkOf

_KEPT = (
    "deploymentConfiguration",
    "healthCheckGracePeriodSeconds",
    "capacityProviderStrategy",
    "placementConstraints",
    "placementStrategy",
    "enableECSManagedTags",
    "enableExecuteCommand",
    "availabilityZoneRebalancing",
    "networkConfiguration",
)
_REQUESTED = "_llm_fleet_requested"
_INTERFACES = "_llm_fleet_interfaces"


def install() -> None:
    """Validate services and keep their settings."""
    if not once(Service, "settings"):
        return
    for method in ("create_service", "update_service"):
        keep_members(EC2ContainerServiceResponse, method, _KEPT, _found)
        after(EC2ContainerServiceResponse, method, _settle)
        before(EC2ContainerServiceResponse, method, _check)
    after(EC2ContainerServiceResponse, "delete_service", _leave)


def _found(response: Any, given: Any) -> Any:
    cluster = response.ecs_backend._get_cluster(given.get("cluster", "default")).name
    name = (given.get("service") or given["serviceName"]).rsplit("/", 1)[-1]
    return response.ecs_backend.services.get(f"{cluster}:{name}")


def _check(response: Any, given: dict[str, Any]) -> None:
    there = _found(response, given)
    if "serviceName" in given and there is not None and there.status == "ACTIVE":
        raise InvalidParameterException("Creation of service was not idempotent.")
    if given.get("schedulingStrategy", "REPLICA") == "REPLICA" and "serviceName" in given:
        given.setdefault("availabilityZoneRebalancing", _rebalancing(given))
    _default_group(response, given)
    requested = {**getattr(there, _REQUESTED, {}), **given} if "service" in given else given
    problems = service_problems(response, requested)
    if problems:
        raise InvalidParameterException("; ".join(problems))


def _default_group(response: Any, given: dict[str, Any]) -> None:
    """Use the VPC's default security group for a task without security groups."""
    place = given.get("networkConfiguration", {}).get("awsvpcConfiguration")
    if place is None or place.get("securityGroups"):
        return
    network = NetworkOf(response.current_account, response.region)
    subnet = network.subnet(place["subnets"][0])
    place["securityGroups"] = [network.default_group_id(subnet.vpc_id)] if subnet else []


def _rebalancing(given: dict[str, Any]) -> str:
    """Return the default of rebalancing: on, if the service can start one more task before it stops one."""
    most = given.get("deploymentConfiguration", {}).get("maximumPercent", 200)
    return "ENABLED" if most > 100 else "DISABLED"


def _settle(response: Any, given: dict[str, Any]) -> None:
    """Set the number of running tasks (those with a host), and create their network interfaces."""
    service = _found(response, given)
    requested = {**getattr(service, _REQUESTED, {}), **given}
    setattr(service, _REQUESTED, requested)
    service.task_definition = response.ecs_backend.describe_task_definition(requested["taskDefinition"]).arn
    if "capacityProviderStrategy" in requested:
        service.launch_type = None
    service.running_count = _running(response, requested, service.desired_count)
    service.pending_count = service.desired_count - service.running_count
    steady = service.pending_count == 0
    for deployment in service.deployments[:1]:
        deployment |= {
            "desiredCount": service.desired_count,
            "runningCount": service.running_count,
            "pendingCount": service.pending_count,
            "rolloutState": "COMPLETED" if steady else "IN_PROGRESS",
            "rolloutStateReason": f"ECS deployment {deployment['id']} {'completed' if steady else 'in progress'}.",
            "taskDefinition": service.task_definition,
            "networkConfiguration": requested.get("networkConfiguration"),
            "capacityProviderStrategy": requested.get("capacityProviderStrategy"),
            "launchType": service.launch_type,
            "platformFamily": None,
        }
    _attach_interfaces(response, service, requested)


def _running(response: Any, requested: dict[str, Any], wanted: int) -> int:
    """Return how many tasks have a host: with `distinctInstance` each needs its own, otherwise one host is enough.

    A strategy places tasks only on hosts of its capacity providers.

    Source: document https://docs.aws.amazon.com/AmazonECS/latest/developerguide/capacity-launch-type-comparison.html
    (2026-11)
    """
    found: list[int | None] = []
    for one in requested.get("capacityProviderStrategy", ()):
        provider = response.ecs_backend._get_provider(one["capacityProvider"])
        found.append(None if provider is None else hosts_for(response, provider, wanted))
    if not found or None in found:
        return wanted
    hosts = sum(one or 0 for one in found)
    alone = any(one["type"] == "distinctInstance" for one in requested.get("placementConstraints", ()))
    return min(wanted, hosts) if alone or not hosts else wanted


def _attach_interfaces(response: Any, service: Any, requested: dict[str, Any]) -> None:
    network = NetworkOf(response.current_account, response.region)
    network.detach(getattr(service, _INTERFACES, []))
    place: dict[str, Any] = requested.get("networkConfiguration", {}).get("awsvpcConfiguration", {})
    subnets: list[str] = place.get("subnets", [])
    interfaces = [
        network.attach(subnets[number % len(subnets)], place.get("securityGroups", []), f"ECS task of {service.name}")
        for number in range(service.running_count if subnets else 0)
    ]
    setattr(service, _INTERFACES, interfaces)


def _leave(response: Any, given: dict[str, Any]) -> None:
    service = _found(response, given)
    NetworkOf(response.current_account, response.region).detach(getattr(service, _INTERFACES, []))
    service.desired_count = service.running_count = 0
