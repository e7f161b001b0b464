"""Services that ECS rejects: capacity, deployment, network or load balancer do not match."""

from collections.abc import Iterator, Mapping
from typing import Any

from moto.elbv2.models import elbv2_backends

_FARGATE = ("FARGATE", "FARGATE_SPOT")
_FULL = 100


def service_problems(response: Any, requested: Mapping[str, Any]) -> list[str]:
    """Return the errors of a service; `requested` is the input of CreateService with all later updates applied."""
    cluster = response.ecs_backend._get_cluster(requested.get("cluster", "default"))
    definition = response.ecs_backend.describe_task_definition(requested["taskDefinition"])
    return [
        *_cluster(cluster),
        *_definition(definition),
        *_capacity(response, requested, cluster, definition),
        *_deployment(requested),
        *_network(requested, definition),
        *_load_balancers(response, requested, definition),
    ]


def _cluster(cluster: Any) -> Iterator[str]:
    """Return an error if the cluster was deleted.

    Source: assumption ecs-service-other-refusals
    """
    if cluster.status != "ACTIVE":
        yield "Cluster was not ACTIVE."


def _definition(definition: Any) -> Iterator[str]:
    """Return an error if the task definition was deregistered.

    Source: assumption ecs-service-other-refusals
    """
    if definition.status != "ACTIVE":
        yield "TaskDefinition is inactive"


def _capacity(response: Any, requested: Mapping[str, Any], cluster: Any, definition: Any) -> Iterator[str]:
    """Return the errors of launch type and capacity providers.

    Source: model botocore ecs CreateServiceRequest (capacityProviderStrategy)
    Source: model botocore ecs CapacityProviderStrategyItem
    Source: assumption ecs-service-refusals
    Source: assumption ecs-service-other-refusals
    """
    strategy: list[dict[str, Any]] = requested.get("capacityProviderStrategy", [])
    if strategy and "launchType" in requested:
        yield (
            "Specifying both a launch type and capacity provider strategy is not supported. Remove one and try again."
        )
    able: list[str] = definition.compatibilities
    launch_type = requested.get("launchType") or ("" if strategy else "EC2")
    if launch_type and launch_type not in able:
        yield f"Task definition does not support launch_type {launch_type}."
    for name in (one["capacityProvider"] for one in strategy):
        if name not in (cluster.capacity_providers or ()):
            yield (
                "The specified capacity provider strategy cannot contain a capacity provider that is not associated "
                f"with the cluster. Associate the capacity provider with the cluster and try again: {name}"
            )
            continue
        provider = response.ecs_backend._get_provider(name)
        managed = getattr(provider, "type", "") == "MANAGED_INSTANCES"
        wanted = "FARGATE" if name in _FARGATE else "MANAGED_INSTANCES" if managed else "EC2"
        if wanted not in able:
            yield f"Capacity provider {name} requires a task definition for {wanted}, not for {', '.join(able)}."


def _deployment(requested: Mapping[str, Any]) -> Iterator[str]:
    """Return the errors of the deployment's numbers.

    Source: assumption ecs-service-refusals
    Source: assumption ecs-service-other-refusals
    """
    configuration: Mapping[str, Any] = requested.get("deploymentConfiguration", {})
    least, most = configuration.get("minimumHealthyPercent", _FULL), configuration.get("maximumPercent")
    if requested.get("schedulingStrategy") == "DAEMON":
        if "desiredCount" in requested:
            yield "The daemon scheduling strategy does not support a desired count for services."
        if any(one["type"] == "distinctInstance" for one in requested.get("placementConstraints", ())):
            yield "The daemon scheduling strategy does not support the distinctInstance placement constraint."
        return
    if most == _FULL and least == _FULL:
        yield "Both maximumPercent and minimumHealthyPercent cannot be 100 as this will block deployments."
    if most is not None and most <= _FULL and requested.get("availabilityZoneRebalancing") == "ENABLED":
        yield "availabilityZoneRebalancing requires a maximumPercent above 100."


def _network(requested: Mapping[str, Any], definition: Any) -> Iterator[str]:
    """Return an error if the network configuration does not match the network mode.

    Source: model botocore ecs CreateServiceRequest (networkConfiguration)
    Source: assumption ecs-service-refusals
    """
    place = requested.get("networkConfiguration")
    awsvpc = definition.networkMode == "awsvpc"
    if awsvpc and not place:
        yield "Network Configuration must be provided when networkMode 'awsvpc' is specified."
    if place and not awsvpc:
        yield "Network Configuration is not valid for the given networkMode of this task definition."
    if place and place["awsvpcConfiguration"].get("assignPublicIp") == "ENABLED" and "FARGATE" not in str(requested):
        yield "Assign public IP is not supported for this launch type."


def _load_balancers(response: Any, requested: Mapping[str, Any], definition: Any) -> Iterator[str]:
    """Return an error for each target group that is missing, has no load balancer, or has another target type.

    Source: assumption ecs-service-refusals
    Source: assumption ecs-service-other-refusals
    """
    balancers: list[dict[str, Any]] = requested.get("loadBalancers", [])
    groups = elbv2_backends[response.current_account][response.region].target_groups
    for one in balancers:
        arn = str(one.get("targetGroupArn"))
        group = groups.get(arn)
        if group is None:
            yield f"Unable to assume role and validate the listeners configured on your load balancer: no {arn}"
            continue
        if not group.load_balancer_arns:
            yield f"The target group with targetGroupArn {arn} does not have an associated load balancer."
        if definition.networkMode == "awsvpc" and group.target_type != "ip":
            yield (
                f"The provided target group {arn} has target type {group.target_type}, which is incompatible with the "
                "awsvpc network mode specified in the task definition."
            )
        yield from _container(one, definition)


def _container(balancer: Mapping[str, Any], definition: Any) -> Iterator[str]:
    """Return an error if the load balancer's container or port is not in the task definition.

    Source: assumption ecs-service-other-refusals
    """
    name, port = balancer.get("containerName"), balancer.get("containerPort")
    container = next((one for one in definition.container_definitions if one["name"] == name), None)
    if container is None:
        yield f"The container {name} does not exist in the task definition."
    elif port not in [mapping.get("containerPort") for mapping in container.get("portMappings", ())]:
        yield f"The container {name} did not have a container port {port} defined."
