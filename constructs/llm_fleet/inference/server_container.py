"""The container of the model server."""

from collections.abc import Mapping

from aws_cdk import aws_ecs as ecs

from llm_fleet.catalog.neuron import NeuronInstance
from llm_fleet.catalog.service import task_limits
from llm_fleet.inference.model_mount import CACHE_ENVIRONMENT, ModelMount, cache_mount, model_mounts
from llm_fleet.inference.server_process import ServerProcess
from llm_fleet.spec.service import Capacity

SERVER = "server"
"""Name of the container; the load balancer's target."""
_NO_LIMIT = -1


def server_container(
    process: ServerProcess,
    *,
    instance: NeuronInstance,
    capacity: Capacity,
    mount: ModelMount | None,
    secrets: Mapping[str, str],
    memory_mib: int,
    cpu_units: int,
    log: ecs.CfnTaskDefinition.LogConfigurationProperty,
    after: str | None,
) -> ecs.CfnTaskDefinition.ContainerDefinitionProperty:
    """Return the container.

    `secrets`: environment variable to the ARN of the secret whose text it gets when the task starts; no secret is in
    the environment of the task definition, which everybody may read who may describe it. `memory_mib`: above it the
    kernel ends the server, and not a program of the host. `after`: a container that must have ended well before.
    """
    limits = task_limits()
    return ecs.CfnTaskDefinition.ContainerDefinitionProperty(
        name=SERVER,
        image=process.image,
        essential=True,
        entry_point=list(process.entry_point) or None,
        command=list(process.command) or None,
        environment=[
            ecs.CfnTaskDefinition.KeyValuePairProperty(name=name, value=value)
            for name, value in sorted({**CACHE_ENVIRONMENT, **process.environment}.items())
        ],
        secrets=[
            ecs.CfnTaskDefinition.SecretProperty(name=name, value_from=arn) for name, arn in sorted(secrets.items())
        ]
        or None,
        port_mappings=[ecs.CfnTaskDefinition.PortMappingProperty(container_port=process.port, protocol="tcp")],
        linux_parameters=_linux(instance, capacity, process.capabilities),
        resource_requirements=_all_devices() if capacity is Capacity.MANAGED_INSTANCES else None,
        ulimits=[
            # Every stream of an answer is an open file.
            ecs.CfnTaskDefinition.UlimitProperty(
                name="nofile", soft_limit=limits.open_files, hard_limit=limits.open_files
            ),
            # The runtime pins memory for its devices' DMA.
            ecs.CfnTaskDefinition.UlimitProperty(name="memlock", soft_limit=_NO_LIMIT, hard_limit=_NO_LIMIT),
        ],
        mount_points=[*model_mounts(mount), cache_mount()],
        memory=memory_mib,
        cpu=cpu_units,
        stop_timeout=stop_seconds(process),
        log_configuration=log,
        depends_on=[ecs.CfnTaskDefinition.ContainerDependencyProperty(container_name=after, condition="SUCCESS")]
        if after
        else None,
    )


def stop_seconds(process: ServerProcess) -> int:
    """Return how long ECS waits between SIGTERM and SIGKILL: as long as the server takes to end, and a little longer.

    Streams are over by then: ECS stops a task only when the load balancer has let go of it, which is at the end of
    the deregistration delay at the latest.
    """
    return process.termination_seconds + task_limits().stop_margin_seconds


def _linux(
    instance: NeuronInstance, capacity: Capacity, capabilities: tuple[str, ...]
) -> ecs.CfnTaskDefinition.LinuxParametersProperty:
    """Return the devices, one by one: on EC2 hosts ECS knows no Neuron device as a resource.

    `capabilities`: only those that the user asked for. assumption: aws-vllm-needs-no-capabilities
    """
    devices = [
        ecs.CfnTaskDefinition.DeviceProperty(host_path=path, container_path=path, permissions=["read", "write"])
        for path in instance.device_paths
    ]
    return ecs.CfnTaskDefinition.LinuxParametersProperty(
        capabilities=ecs.CfnTaskDefinition.KernelCapabilitiesProperty(add=list(capabilities)) if capabilities else None,
        devices=devices if capacity is Capacity.EC2 else None,
        # A first process that hands signals on and buries the dead: the servers start others.
        init_process_enabled=True,
        # Not valid on Managed Instances, which leave Docker's 64 MiB (ECS guide, task definition differences).
        shared_memory_size=task_limits().shared_memory_mib if capacity is Capacity.EC2 else None,
    )


def _all_devices() -> list[ecs.CfnTaskDefinition.ResourceRequirementProperty]:
    """Return all devices of a managed instance; `ALL` is the only value (API_ResourceRequirement)."""
    return [ecs.CfnTaskDefinition.ResourceRequirementProperty(type="NeuronDevice", value="ALL")]
