"""The task: one server with all the devices of its host, what checks its model first, and what reports on it."""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_ecs as ecs
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.inference.ecs_role import EcsRole
from llm_fleet.inference.model_mount import cache_volume, model_mount, model_volumes
from llm_fleet.inference.server_container import server_container
from llm_fleet.inference.server_process import ServerProcess
from llm_fleet.inference.service_plan import ServicePlan
from llm_fleet.spec.service import Capacity

_Container = ecs.CfnTaskDefinition.ContainerDefinitionProperty


def render_task_definition(
    scope: Construct,
    plan: ServicePlan,
    process: ServerProcess,
    *,
    compatibility: str,
    check: _Container | None,
    sidecars: Sequence[_Container],
    secrets: Mapping[str, str],
    log: ecs.CfnTaskDefinition.LogConfigurationProperty,
    task_role: EcsRole,
    execution_role: EcsRole,
) -> ecs.CfnTaskDefinition:
    """Return the task definition `Definition` in `scope`.

    `check`: a container that must end well before the server starts. `sidecars`: what runs beside it.
    """
    others = [*([check] if check else []), *sidecars]
    capacity = plan.spec.hosts.capacity
    mount = model_mount(plan.model)
    server = server_container(
        process,
        instance=plan.instance,
        capacity=capacity,
        mount=mount,
        secrets=secrets,
        memory_mib=plan.memory_mib - sum(int(each.memory or 0) for each in others),
        cpu_units=plan.cpu_units - sum(int(each.cpu or 0) for each in others),
        log=log,
        after=check.name if check else None,
    )
    resource = ecs.CfnTaskDefinition(
        scope,
        "Definition",
        family=plan.name,
        # An interface and a security group for the task alone: only the load balancer reaches the server.
        network_mode="awsvpc",
        requires_compatibilities=[compatibility],
        # On an EC2 host the task's own limit on CPU would only hold it back: nobody else is there.
        cpu=str(plan.cpu_units) if plan.spec.hosts.managed else None,
        memory=str(plan.memory_mib),
        runtime_platform=_platform(capacity),
        container_definitions=[server, *others],
        volumes=[*model_volumes(mount), cache_volume(capacity)],
        task_role_arn=task_role.role.role_arn,
        execution_role_arn=execution_role.role.role_arn,
    )
    acknowledge(
        resource,
        "the environment holds sizes, paths and names; what is secret comes from Secrets Manager by `secrets`",
        "AwsSolutions-ECS2",
    )
    return resource


def _platform(capacity: Capacity) -> ecs.CfnTaskDefinition.RuntimePlatformProperty | None:
    """Return what Managed Instances choose the image of the host by; on EC2 hosts there is nothing to choose."""
    if capacity is not Capacity.MANAGED_INSTANCES:
        return None
    return ecs.CfnTaskDefinition.RuntimePlatformProperty(cpu_architecture="X86_64", operating_system_family="LINUX")
