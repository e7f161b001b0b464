"""Where an export runs: a host that is there only while one runs, or Fargate."""

from dataclasses import dataclass, replace

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from constructs import Construct

from llm_fleet.catalog.model_server import fargate_facts, model_servers
from llm_fleet.catalog.neuron import default_root_gib, neuron_instance
from llm_fleet.catalog.service import task_memory_mib
from llm_fleet.inference.ec2_capacity import Ec2Capacity
from llm_fleet.inference.ec2_hosts import Ec2Hosts
from llm_fleet.inference.model_server import ModelServer
from llm_fleet.network.network import Network
from llm_fleet.rules.inference.driver import driver_for
from llm_fleet.rules.inference.export import export_disk_gib
from llm_fleet.rules.inference.memory import GIB, export_bytes
from llm_fleet.rules.inference.protocols import ShapeLike

_MIB_PER_GIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class _OneAtATime:
    """No host, and one while a task waits for it."""

    desired: int = 0
    minimum: int | None = 0
    maximum: int | None = 1
    queue_target: float | None = None
    requests_per_minute_target: float | None = None


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


def fargate_capacity(shape: ShapeLike, *, server: ModelServer) -> ExportCapacity:
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
    hosts: Ec2Hosts,
    shape: ShapeLike,
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
    instance = neuron_instance(hosts.instance_type)
    assert instance is not None
    made = Ec2Capacity(
        scope,
        "Capacity",
        hosts=replace(hosts, root_volume_gib=hosts.root_volume_gib or work),
        network=network,
        cluster_name=cluster.ref,
        service_name=name,
        scaling=_OneAtATime(),
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
