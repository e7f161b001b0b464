"""The task of a service: its containers, its definition, the roles that it acts with, and its security group."""

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


def _platform(capacity: Capacity) -> ecs.CfnTaskDefinition.RuntimePlatformProperty | None:
    """Return what Managed Instances choose the image of the host by; on EC2 hosts there is nothing to choose."""
    if capacity is not Capacity.MANAGED_INSTANCES:
        return None
    return ecs.CfnTaskDefinition.RuntimePlatformProperty(cpu_architecture="X86_64", operating_system_family="LINUX")


class ServingTask(Construct):
    """One server with all devices of its host. What it may do in AWS is what its collector needs, and nothing else.

    The model in S3 is read by the host, so the task's role has no S3; secrets are read by the role that starts it.
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
        """Make it. `compatibility`: of the capacity that it is for. `api_key`: what clients must show, if anything."""
        super().__init__(scope, id)
        # The Hub, CloudWatch and Session Manager speak HTTPS; a server has no business at any other port.
        self.security_group: ec2.ISecurityGroup = HttpsOutSecurityGroup(
            self,
            "SecurityGroup",
            vpc=network.vpc,
            description=f"Tasks of the inference service {plan.name}",
            reaches="HTTPS to AWS and the Hub",
        )
        """Lets the load balancer in, and HTTPS out."""
        secrets = _secrets(plan, process, api_key)
        self._task_role = ecs_role(
            self,
            "TaskRole",
            description=f"What the tasks of the inference service {plan.name} may do",
            permissions=[
                *collector_permissions(log_group_arn=log.group_arn),
                *(shell_permissions(log_group_arn=log.arn) if execute_command else ()),
            ],
        )
        self._execution_role = ecs_role(
            self,
            "ExecutionRole",
            description=f"What ECS may do to start a task of the inference service {plan.name}",
            permissions=self._to_start(plan, process, log, api_key, list(secrets.values())),
        )
        self.definition = self._define(
            plan, process, compatibility=compatibility, cluster_name=cluster_name, log=log, secrets=secrets
        )
        """The L1 beneath."""

    @property
    def role(self) -> iam.IRole:
        """What the containers act with."""
        return self._task_role.role

    @property
    def execution_role(self) -> iam.IRole:
        """What ECS acts with to start a task: grant it a repository whose name is a token, or a secret's key."""
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
            # An interface and a security group for the task alone: only the load balancer reaches the server.
            network_mode="awsvpc",
            requires_compatibilities=[compatibility],
            # On an EC2 host the task's own limit on CPU would only hold it back: nobody else is there.
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
            "the environment holds sizes, paths and names; what is secret comes from Secrets Manager by `secrets`",
            "AwsSolutions-ECS2",
        )
        return resource


def _secrets(plan: ServicePlan, process: ServerProcess, api_key: secretsmanager.ISecret | None) -> dict[str, str]:
    """Return the secrets of the server by the environment variable that gets each."""
    secrets = {} if api_key is None else {process.api_key_variable: api_key.secret_arn}
    if plan.model.token_secret_arn is not None:
        secrets[process.hub_token_variable] = plan.model.token_secret_arn
    return secrets
