"""The task of a service: containers, task definition, roles and security group."""

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.neuron import NeuronInstance
from llm_fleet.catalog.service import task_limits
from llm_fleet.iam.statements import Permission
from llm_fleet.inference.cluster import ServiceLog, ecs_role, execution_permissions, shell_permissions
from llm_fleet.inference.metrics import collector_container, collector_permissions
from llm_fleet.inference.model import (
    CACHE_ENVIRONMENT,
    ModelMount,
    cache_mount,
    cache_volume,
    check_container,
    model_mount,
    model_mounts,
    model_path,
    model_volumes,
)
from llm_fleet.inference.server import ServerProcess, repository_arn, server_repository_arn
from llm_fleet.inference.service_plan import ServicePlan
from llm_fleet.network.network import Network
from llm_fleet.network.security_group import HttpsOutSecurityGroup
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
    """Return the server's container.

    `secrets`: secret ARNs by environment variable; ECS reads their values when the task starts, so that they are not in
    the task definition, which all users with DescribeTaskDefinition can read. `memory_mib`: above it, the kernel kills
    the server instead of a program of the host. `after`: a container that must exit successfully before.
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
            # Each streamed answer uses a file descriptor.
            ecs.CfnTaskDefinition.UlimitProperty(
                name="nofile", soft_limit=limits.open_files, hard_limit=limits.open_files
            ),
            # The Neuron runtime pins memory for DMA of its devices.
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
    """Return the seconds between SIGTERM and SIGKILL: a little longer than the server needs to stop.

    Streams are finished by then: ECS stops a task only after the load balancer has deregistered it, at the latest at
    the end of the deregistration delay.
    """
    return process.termination_seconds + task_limits().stop_margin_seconds


def _linux(
    instance: NeuronInstance, capacity: Capacity, capabilities: tuple[str, ...]
) -> ecs.CfnTaskDefinition.LinuxParametersProperty:
    """Return a list of the devices, because ECS has no Neuron resource type on EC2 hosts.

    `capabilities`: only those that the user set. assumption: aws-vllm-needs-no-capabilities
    """
    devices = [
        ecs.CfnTaskDefinition.DeviceProperty(host_path=path, container_path=path, permissions=["read", "write"])
        for path in instance.device_paths
    ]
    return ecs.CfnTaskDefinition.LinuxParametersProperty(
        capabilities=ecs.CfnTaskDefinition.KernelCapabilitiesProperty(add=list(capabilities)) if capabilities else None,
        devices=devices if capacity is Capacity.EC2 else None,
        # An init process forwards signals and reaps zombies, since the servers start child processes.
        init_process_enabled=True,
        # Not valid on Managed Instances, which use Docker's 64 MiB (ECS guide, task definition differences).
        shared_memory_size=task_limits().shared_memory_mib if capacity is Capacity.EC2 else None,
    )


def _all_devices() -> list[ecs.CfnTaskDefinition.ResourceRequirementProperty]:
    """Return all devices of a managed instance; `ALL` is the only value (API_ResourceRequirement)."""
    return [ecs.CfnTaskDefinition.ResourceRequirementProperty(type="NeuronDevice", value="ALL")]


def _platform(capacity: Capacity) -> ecs.CfnTaskDefinition.RuntimePlatformProperty | None:
    """Return the platform, by which Managed Instances select the host's AMI; `None` on EC2 hosts."""
    if capacity is not Capacity.MANAGED_INSTANCES:
        return None
    return ecs.CfnTaskDefinition.RuntimePlatformProperty(cpu_architecture="X86_64", operating_system_family="LINUX")


class ServingTask(Construct):
    """One server with all devices of its host. Its task role has only the permissions of the collector.

    The host reads the model in S3, so the task role has no S3 permissions; the execution role reads secrets.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        plan: ServicePlan,
        process: ServerProcess,
        network: Network,
        compatibility: str,
        cluster_name: str,
        log: ServiceLog,
        api_key: secretsmanager.ISecret | None,
        execute_command: bool,
    ) -> None:
        """Create the task. `compatibility`: that of its capacity. `api_key`: the clients' API key, if any."""
        super().__init__(scope, id)
        # The Hub, CloudWatch and Session Manager use HTTPS; a server needs no other port.
        self.security_group: ec2.ISecurityGroup = HttpsOutSecurityGroup(
            self,
            "SecurityGroup",
            vpc=network.vpc,
            description=f"Tasks of the inference service {plan.name}",
            reaches="HTTPS to AWS and the Hub",
        )
        """Allows ingress from the load balancer, and HTTPS egress."""
        secrets = _secrets(plan, process, api_key)
        self._task_role = ecs_role(
            self,
            "TaskRole",
            description=f"Task role of the inference service {plan.name}",
            permissions=[
                *collector_permissions(log_group_arn=log.group_arn),
                *(shell_permissions(log_group_arn=log.arn) if execute_command else ()),
            ],
        )
        self._execution_role = ecs_role(
            self,
            "ExecutionRole",
            description=f"Execution role of the inference service {plan.name}",
            permissions=self._to_start(plan, process, log, api_key, list(secrets.values())),
        )
        self.definition = self._define(
            plan, process, compatibility=compatibility, cluster_name=cluster_name, log=log, secrets=secrets
        )
        """The L1 construct."""

    @property
    def role(self) -> iam.IRole:
        """Task role of the containers."""
        return self._task_role.role

    @property
    def execution_role(self) -> iam.IRole:
        """Execution role: grant it access to a repository whose name is a token, or to a secret's key."""
        return self._execution_role.role

    @property
    def permissions(self) -> dict[str, tuple[Permission, ...]]:
        """The statements of both roles, each with its reason: `task` and `execution`."""
        return {"task": self._task_role.permissions, "execution": self._execution_role.permissions}

    def _to_start(
        self,
        plan: ServicePlan,
        process: ServerProcess,
        log: ServiceLog,
        api_key: secretsmanager.ISecret | None,
        secret_arns: list[str],
    ) -> tuple[Permission, ...]:
        stack = cdk.Stack.of(self)
        repositories = [
            server_repository_arn(plan.server.kind, process, stack),
            *(repository_arn(image, partition=stack.partition) for _, image in plan.spec.pulled()),
        ]
        key = api_key.encryption_key if api_key else None
        return execution_permissions(
            repositories=[arn for arn in repositories if arn is not None],
            log_group_arn=log.arn,
            secret_arns=secret_arns,
            key_arns=[key.key_arn] if key else [],
        )

    def _define(
        self,
        plan: ServicePlan,
        process: ServerProcess,
        *,
        compatibility: str,
        cluster_name: str,
        log: ServiceLog,
        secrets: Mapping[str, str],
    ) -> ecs.CfnTaskDefinition:
        capacity, mount, driver = plan.spec.hosts.capacity, model_mount(plan.model), log.driver("task")
        check = check_container(
            source=plan.model.source,
            path=model_path(plan.model),
            requested=plan.requested,
            image=process.image,
            mount_points=model_mounts(mount),
            log=driver,
        )
        collector = collector_container(
            self,
            server=plan.server.kind,
            port=process.port,
            metrics_path=process.metrics_path,
            cluster_name=cluster_name,
            service_name=plan.name,
            log_group_name=log.log_group.ref,
            image=plan.spec.sidecar_images.image("collector"),
            log=driver,
        )
        others = [*([check] if check else []), collector]
        server = server_container(
            process,
            instance=plan.instance,
            capacity=capacity,
            mount=mount,
            secrets=secrets,
            memory_mib=plan.memory_mib - sum(int(each.memory or 0) for each in others),
            cpu_units=plan.cpu_units - sum(int(each.cpu or 0) for each in others),
            log=driver,
            after=check.name if check else None,
        )
        resource = ecs.CfnTaskDefinition(
            self,
            "Definition",
            family=plan.name,
            # The task has its own network interface and security group: only the load balancer reaches the server.
            network_mode="awsvpc",
            requires_compatibilities=[compatibility],
            # On an EC2 host a CPU limit would only slow the task down: it is alone on the host.
            cpu=str(plan.cpu_units) if plan.spec.hosts.managed else None,
            memory=str(plan.memory_mib),
            runtime_platform=_platform(capacity),
            container_definitions=[server, *others],
            volumes=[*model_volumes(mount), cache_volume(capacity)],
            task_role_arn=self.role.role_arn,
            execution_role_arn=self.execution_role.role_arn,
        )
        acknowledge(
            resource,
            "the environment has sizes, paths and names; secrets come from Secrets Manager through `secrets`",
            "AwsSolutions-ECS2",
        )
        return resource


def _secrets(plan: ServicePlan, process: ServerProcess, api_key: secretsmanager.ISecret | None) -> dict[str, str]:
    """Return the secret ARNs of the server by environment variable."""
    secrets = {} if api_key is None else {process.api_key_variable: api_key.secret_arn}
    if plan.model.token_secret_arn is not None:
        secrets[process.hub_token_variable] = plan.model.token_secret_arn
    return secrets
