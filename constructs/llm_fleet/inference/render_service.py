"""The ECS service: how its tasks are placed, replaced and reached."""

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from llm_fleet.inference.ec2_capacity import Ec2Capacity
from llm_fleet.inference.managed_capacity import ManagedCapacity
from llm_fleet.inference.server_container import SERVER
from llm_fleet.inference.service_plan import ServicePlan
from llm_fleet.network.network import Network

_ALL = 100


def render_service(
    scope: Construct,
    plan: ServicePlan,
    *,
    network: Network,
    cluster_name: str,
    task_definition_arn: str,
    capacity: Ec2Capacity | ManagedCapacity,
    security_group_id: str,
    target_group_arn: str,
    port: int,
    grace_seconds: int,
    execute_command: bool,
) -> ecs.CfnService:
    """Return the service `Service` in `scope`."""
    tasks = plan.spec.tasks
    return ecs.CfnService(
        scope,
        "Service",
        service_name=plan.name,
        cluster=cluster_name,
        task_definition=task_definition_arn,
        # CloudFormation would set a number of tasks that follows the load back at every update of the service.
        desired_count=None if tasks.scales else tasks.desired,
        capacity_provider_strategy=[
            ecs.CfnService.CapacityProviderStrategyItemProperty(
                capacity_provider=capacity.capacity_provider_name, weight=1
            )
        ],
        placement_constraints=capacity.placement_constraints or None,
        deployment_configuration=_deployment(tasks.minimum),
        availability_zone_rebalancing="DISABLED",
        health_check_grace_period_seconds=grace_seconds,
        load_balancers=[
            ecs.CfnService.LoadBalancerProperty(
                container_name=SERVER, container_port=port, target_group_arn=target_group_arn
            )
        ],
        network_configuration=ecs.CfnService.NetworkConfigurationProperty(
            awsvpc_configuration=ecs.CfnService.AwsVpcConfigurationProperty(
                subnets=[subnet.subnet_id for subnet in network.compute_subnets.values()],
                security_groups=[security_group_id],
                assign_public_ip="DISABLED",
            )
        ),
        enable_ecs_managed_tags=True,
        enable_execute_command=execute_command,
        propagate_tags="SERVICE",
        tags=[cdk.CfnTag(key="Name", value=plan.name)],
    )


def least_healthy_percent(tasks: int) -> int:
    """Return the share of `tasks` that goes on while an update replaces the others: all but one, or none of one.

    A host's accelerator holds one task, and there may be no further accelerator to be had: an update that must start a
    task before it stops one would wait for ever. ECS rounds the share up to whole tasks, so it is rounded down here.
    """
    return _ALL * (tasks - 1) // tasks


def _deployment(tasks: int) -> ecs.CfnService.DeploymentConfigurationProperty:
    """Return how tasks are replaced: never more than there are hosts for, one by one, and back when they do not start.

    With that no AZ can be rebalanced, which starts a task before it stops one.
    """
    return ecs.CfnService.DeploymentConfigurationProperty(
        minimum_healthy_percent=least_healthy_percent(tasks),
        maximum_percent=_ALL,
        deployment_circuit_breaker=ecs.CfnService.DeploymentCircuitBreakerProperty(enable=True, rollback=True),
    )
