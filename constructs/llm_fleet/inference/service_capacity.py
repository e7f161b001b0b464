"""The hosts under a service, of whichever kind was asked for."""

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from llm_fleet.catalog.model_server import model_servers
from llm_fleet.inference.ec2_capacity import Ec2Capacity
from llm_fleet.inference.managed_capacity import ManagedCapacity
from llm_fleet.inference.model_mount import model_mount, model_permissions
from llm_fleet.inference.service_log import ServiceLog
from llm_fleet.inference.service_plan import ServicePlan
from llm_fleet.network.network import Network
from llm_fleet.rules.inference.driver import driver_for


def add_capacity(
    scope: Construct, plan: ServicePlan, *, network: Network, cluster: ecs.CfnCluster, log: ServiceLog
) -> Ec2Capacity | ManagedCapacity:
    """Return the construct `Capacity` in `scope`: one or the other, never both, as ECS mixes them in no service."""
    image_gib = model_servers()[plan.server.kind].image_gib
    spec = plan.spec
    if not spec.hosts.managed:
        return Ec2Capacity(
            scope,
            "Capacity",
            hosts=spec.hosts,
            instance_type=spec.instance_type,
            network=network,
            cluster_name=cluster.ref,
            service_name=plan.name,
            tasks=spec.tasks,
            driver_version=driver_for(plan.server),
            log_group=log.log_group,
            mount=model_mount(plan.model),
            # Mountpoint runs on the host, so it is the host that reads the model, and no container may.
            model_permissions=model_permissions(plan.model, partition=cdk.Stack.of(scope).partition),
            image_gib=image_gib,
            waits=True,
        )
    return ManagedCapacity(
        scope,
        "Capacity",
        hosts=spec.hosts,
        instance_type=spec.instance_type,
        network=network,
        cluster_name=cluster.ref,
        service_name=plan.name,
        image_gib=image_gib,
    )
