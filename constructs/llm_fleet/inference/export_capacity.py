"""Where an export runs: a host that is there only while one runs, or Fargate."""

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from constructs import Construct

from llm_fleet.catalog.model_server import fargate_facts, model_servers
from llm_fleet.catalog.neuron import default_root_gib, neuron_instance
from llm_fleet.catalog.service import task_memory_mib
from llm_fleet.inference.ec2_capacity import Ec2Capacity
from llm_fleet.network.network import Network
from llm_fleet.rules.inference.driver import driver_for
from llm_fleet.rules.inference.export import export_disk_gib
from llm_fleet.rules.inference.fit import GIB, export_bytes
from llm_fleet.spec.model_server import ModelServer
from llm_fleet.spec.model_shape import ModelShape
from llm_fleet.spec.service import Hosts, TaskCount

_MIB_PER_GIB = 1024


_ONE_AT_A_TIME = TaskCount(desired=0, minimum=0, maximum=1)
"""No host, and one while a task waits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportCapacity:
    """What a task definition and `run-task` have to say of it."""

    compatibility: str
    cpu: str | None
    memory_mib: int
    storage_gib: int | None
    """Ephemeral storage; `None` where the host's disk is used."""
    run_options: str
    """For `aws ecs run-task`."""


def fargate_capacity(shape: ModelShape, *, server: ModelServer) -> ExportCapacity:
    """Return a task of Fargate that is large enough."""
    facts = fargate_facts()
    steps = -(-export_bytes(shape) // (facts.memory_step_gib * GIB))
    memory = max(facts.memory_min_gib, int(steps) * facts.memory_step_gib)
    return ExportCapacity(
        compatibility="FARGATE",
        cpu=str(facts.cpu),
        memory_mib=memory * _MIB_PER_GIB,
        storage_gib=export_disk_gib(shape) + model_servers()[server.kind].image_gib,
        run_options="--launch-type FARGATE",
    )


def host_capacity(
    scope: Construct,
    *,
    hosts: Hosts,
    instance_type: str,
    shape: ModelShape,
    server: ModelServer,
    network: Network,
    cluster: ecs.CfnCluster,
    name: str,
    log_group: logs.CfnLogGroup,
) -> tuple[ExportCapacity, Ec2Capacity]:
    """Make capacity in `scope` that has no host while nothing is exported. Its root volume holds the work.

    A host that takes long may come when ECS has given its task up; it stays for the next try.
    assumption: ecs-provisioning-gives-up
    """
    image_gib = model_servers()[server.kind].image_gib
    work = default_root_gib(image_gib, cache_gib=export_disk_gib(shape))
    instance = neuron_instance(instance_type)
    assert instance is not None
    made = Ec2Capacity(
        scope,
        "Capacity",
        hosts=hosts.narrowed(Hosts, root_volume_gib=hosts.root_volume_gib or work),
        instance_type=instance_type,
        network=network,
        cluster_name=cluster.ref,
        service_name=name,
        tasks=_ONE_AT_A_TIME,
        driver_version=driver_for(server),
        log_group=log_group,
        image_gib=image_gib,
    )
    provider = cdk.Token.as_string(made.capacity_provider_name)
    capacity = ExportCapacity(
        compatibility=made.compatibility,
        cpu=None,
        memory_mib=task_memory_mib(instance),
        storage_gib=None,
        run_options=f"--capacity-provider-strategy capacityProvider={provider},weight=1",
    )
    return capacity, made
