"""The capacity of a service: EC2 hosts of this stack, or ECS Managed Instances."""

from collections.abc import Sequence
from typing import Any, ClassVar, cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct, DependencyGroup, IDependable

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.ec2_instances import ec2_facts_of
from llm_fleet.catalog.model_server import model_servers
from llm_fleet.catalog.neuron import default_root_gib, host_facts
from llm_fleet.iam.statements import Permission, Place
from llm_fleet.inference.cluster import ServiceLog, capacity_provider_name
from llm_fleet.inference.hosts import (
    HostGroup,
    HostLaunchTemplate,
    HostRole,
    host_permissions,
    host_security_group,
    host_settings,
    host_user_data,
)
from llm_fleet.inference.model import ModelMount, model_mount, model_permissions
from llm_fleet.inference.service_plan import ServicePlan
from llm_fleet.logs import log_group_arn
from llm_fleet.network.network import Network
from llm_fleet.rules.inference.hosts import check_driver_source, driver_for
from llm_fleet.rules.problem import raise_problems
from llm_fleet.spec.service import Hosts, TaskCount


class _Capacity(Construct):
    """Base of both kinds of capacity: hosts with their own security group and role, and a capacity provider."""

    compatibility: ClassVar[str]
    """`RequiresCompatibilities` of task definitions."""
    provider: ecs.CfnCapacityProvider
    """The capacity provider."""
    role: iam.IRole
    """The hosts' role."""

    def __init__(self, scope: Construct, id: str, *, network: Network) -> None:
        """Create the security group in the VPC of `network`; subclasses create the rest."""
        super().__init__(scope, id)
        self.security_group: ec2.ISecurityGroup = host_security_group(self, "SecurityGroup", network.vpc)
        """Security group of the hosts; tasks have another one."""

    @property
    def capacity_provider_name(self) -> str:
        """Name of the capacity provider, a CDK token."""
        return self.provider.ref

    @property
    def connections(self) -> ec2.Connections:
        """The connections of the hosts' own security group."""
        return self.security_group.connections


class Ec2Capacity(_Capacity):
    """An Auto Scaling group of hosts, its capacity provider, and the provider's association with the cluster.

    Managed termination protection is off: protected hosts remain when their stack is deleted, and the deletion hangs.
    Managed draining is on instead: a host ends only after its task, even if it is the last host.
    """

    compatibility = "EC2"

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        hosts: Hosts,
        instance_type: str,
        network: Network,
        cluster_name: str,
        service_name: str,
        tasks: TaskCount,
        driver_version: str,
        log_group: logs.CfnLogGroup,
        image_gib: int,
        waits: bool = False,
        mount: ModelMount | None = None,
        model_permissions: Sequence[Permission] = (),
    ) -> None:
        """Create the capacity.

        - `driver_version`: required version of `aws-neuronx-dkms` on hosts, unless `hosts` sets another.
        - `log_group`: hosts write the result of their start to streams `host/<instance id>`.
        - `image_gib`: unpacked size of the server's image; the default size of the root volume depends on it.
        - `waits`: whether the stack waits for the signal of the first host. Default: no, since no task may need one.
        - `mount`: the model in S3, mounted before the ECS agent starts. Default: no mount.
        - `model_permissions`: permissions to read the model, since the mount uses the host's role. Default: none.

        Raises `FleetError` (LF734, LF735) when no AMI has the driver.
        """
        driver = hosts.driver_version or driver_version
        raise_problems(
            [each.under("hosts") for each in check_driver_source(hosts, driver, internet=network.internet)],
            subject=f"{scope.node.path}/{id}",
        )
        super().__init__(scope, id, network=network)
        stack = cdk.Stack.of(self)
        name = f"{service_name}/host"
        self._role = HostRole(
            self,
            "Role",
            description=f"Hosts of the inference service {service_name}",
            permissions=host_permissions(
                Place.of(self),
                cluster_name=cluster_name,
                log_group_arn=log_group_arn(self, log_group.ref),
                stack_id=stack.stack_id,
                model=model_permissions,
            ),
        )
        self.role = self._role.role
        self.group = HostGroup(self, "Group", tasks=tasks, subnets=list(network.compute_subnets.values()), name=name)
        """The Auto Scaling group of hosts."""
        self.first_host: cdk.CfnWaitCondition | None = _first_host(self) if waits else None
        """Completes when a host signals success, and fails when one signals that it cannot join. It must depend on the
        dependencies of the service: hosts start only when a task of the service needs one."""
        settings = host_settings(
            self,
            instance_type=instance_type,
            install_driver=hosts.installs_driver,
            service_name=service_name,
            cluster_name=cluster_name,
            driver_version=driver,
            log_group_name=log_group.ref,
            signal_resources=[
                stack.get_logical_id(each) for each in (self.group.resource, self.first_host) if each is not None
            ],
            mount=mount,
        )
        self.launch_template = HostLaunchTemplate(
            self,
            "LaunchTemplate",
            ami=hosts.ami,
            instance_type=instance_type,
            driver_version=driver,
            root_volume_gib=hosts.root_volume_gib
            or default_root_gib(image_gib, cache_gib=mount.cache_gib if mount else 0),
            profile=self._role.profile,
            security_group=self.security_group,
            user_data=host_user_data(self, settings),
            name=name,
        )
        """Launch template of the hosts."""
        self.group.starts_from(self.launch_template.resource)
        # Hosts need ECS, S3 and the registries when they boot.
        self.group.node.add_dependency(network.connectivity)
        self.provider = self._make_provider(tasks)
        self.association = ecs.CfnClusterCapacityProviderAssociations(
            self,
            "Association",
            cluster=cluster_name,
            capacity_providers=[self.provider.ref],
            default_capacity_provider_strategy=[
                ecs.CfnClusterCapacityProviderAssociations.CapacityProviderStrategyProperty(
                    capacity_provider=self.provider.ref, weight=1
                )
            ],
        )
        """Associates the provider with the cluster; a service that does not depend on it gets no capacity and hangs."""

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """IAM permissions of the hosts, each with its reason."""
        return self._role.permissions

    @property
    def dependencies(self) -> IDependable:
        """A service must depend on these; hosts start when its tasks need them."""
        return DependencyGroup(self.association)

    @property
    def placement_constraints(self) -> list[ecs.CfnService.PlacementConstraintProperty]:
        """One task per host: ECS does not track Neuron devices on EC2, and two servers cannot share one."""
        return [ecs.CfnService.PlacementConstraintProperty(type="distinctInstance")]

    def _make_provider(self, tasks: TaskCount) -> ecs.CfnCapacityProvider:
        return _Provider(
            self,
            "Provider",
            name=capacity_provider_name(self),
            auto_scaling_group_provider=_Provider.AutoScalingGroupProviderProperty(
                auto_scaling_group_arn=self.group.resource.ref,
                managed_draining="ENABLED",
                managed_termination_protection="DISABLED",
                managed_scaling=_Provider.ManagedScalingProperty(
                    status="ENABLED",
                    target_capacity=100,
                    minimum_scaling_step_size=1,
                    maximum_scaling_step_size=tasks.maximum,
                    instance_warmup_period=host_facts().warmup_seconds,
                ),
            ),
        )


def _first_host(scope: Construct) -> cdk.CfnWaitCondition:
    """Return a wait condition that fails in minutes if hosts cannot join; otherwise tasks would wait for hours.

    It needs one signal, not one of each host: managed scaling can start others after the warm-up of the first.
    assumption: ecs-managed-scaling-starts-from-zero
    """
    condition = cdk.CfnWaitCondition(scope, "FirstHost")
    condition.cfn_options.creation_policy = cdk.CfnCreationPolicy(
        resource_signal=cdk.CfnResourceSignal(count=1, timeout=f"PT{host_facts().first_host_minutes}M")
    )
    return condition


_Provider = ecs.CfnCapacityProvider
_OF_INSTANCES = "AmazonECSInstanceRolePolicyForManagedInstances"
_OF_INFRASTRUCTURE = "AmazonECSInfrastructureRolePolicyForManagedInstances"


class ManagedCapacity(_Capacity):
    """A capacity provider of ECS Managed Instances.

    It is created in its cluster: ECS rejects a second association of such a provider with a cluster.

    AWS defines which permissions its own programs on these hosts need, so both roles have AWS's managed policies for
    them. ECS can pass only this instance role to the hosts, whatever its name.
    """

    compatibility = "MANAGED_INSTANCES"

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        hosts: Hosts,
        instance_type: str,
        network: Network,
        cluster_name: str,
        service_name: str,
        image_gib: int,
    ) -> None:
        """Create the capacity. `image_gib`: unpacked size of the image; the size of the data volume depends on it."""
        super().__init__(scope, id, network=network)
        self.role, profile = self._make_instance_role(service_name)
        self.infrastructure_role: iam.IRole = self._make_infrastructure_role(service_name)
        """Infrastructure role: ECS starts and terminates the hosts with it."""
        self.provider = _Provider(
            self,
            "Provider",
            name=capacity_provider_name(self),
            cluster_name=cluster_name,
            managed_instances_provider=_Provider.ManagedInstancesProviderProperty(
                infrastructure_role_arn=self.infrastructure_role.role_arn,
                auto_repair_configuration=_Provider.AutoRepairConfigurationProperty(actions_status="ENABLED"),
                propagate_tags="CAPACITY_PROVIDER",
                instance_launch_template=_Provider.InstanceLaunchTemplateProperty(
                    ec2_instance_profile_arn=profile.attr_arn,
                    monitoring="DETAILED",
                    network_configuration=_Provider.ManagedInstancesNetworkConfigurationProperty(
                        security_groups=[self.security_group.security_group_id],
                        subnets=[subnet.subnet_id for subnet in network.compute_subnets.values()],
                    ),
                    storage_configuration=_Provider.ManagedInstancesStorageConfigurationProperty(
                        storage_size_gib=hosts.root_volume_gib or default_root_gib(image_gib)
                    ),
                    instance_requirements=_requirements(instance_type),
                ),
            ),
        )
        # Hosts need ECS and the registries when they boot.
        self.provider.node.add_dependency(network.connectivity)

    @property
    def dependencies(self) -> IDependable:
        """A service must depend on these."""
        return DependencyGroup(self.provider)

    @property
    def placement_constraints(self) -> list[ecs.CfnService.PlacementConstraintProperty]:
        """None: a task that requires `NeuronDevice` is alone on its host."""
        return []

    def _make_instance_role(self, service_name: str) -> tuple[iam.IRole, iam.CfnInstanceProfile]:
        role = iam.Role(
            self,
            "Role",
            description=f"Managed Instances of the inference service {service_name}",
            assumed_by=cast(iam.IPrincipal, iam.ServicePrincipal("ec2.amazonaws.com")),
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(_OF_INSTANCES)],
        )
        _acknowledge_managed(role, _OF_INSTANCES)
        return cast(iam.IRole, role), iam.CfnInstanceProfile(self, "Profile", roles=[role.role_name])

    def _make_infrastructure_role(self, service_name: str) -> iam.IRole:
        policy = iam.ManagedPolicy(
            self,
            "InfrastructurePolicy",
            description=f"Passes its role to the Managed Instances of the inference service {service_name}",
            statements=[
                iam.PolicyStatement(
                    # AWS's managed policy lets ECS pass only roles whose names begin with ecsInstanceRole.
                    sid="PassInstanceRole",
                    actions=["iam:PassRole"],
                    resources=[self.role.role_arn],
                    conditions={"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}},
                )
            ],
        )
        role = iam.Role(
            self,
            "InfrastructureRole",
            description=f"ECS, for the Managed Instances of the inference service {service_name}",
            assumed_by=cast(iam.IPrincipal, iam.ServicePrincipal("ecs.amazonaws.com")),
            managed_policies=[
                iam.ManagedPolicy.from_aws_managed_policy_name(_OF_INFRASTRUCTURE),
                cast(iam.IManagedPolicy, policy),
            ],
        )
        _acknowledge_managed(role, _OF_INFRASTRUCTURE)
        return cast(iam.IRole, role)


def _acknowledge_managed(role: Construct, name: str) -> None:
    acknowledge(
        role,
        "AWS selects, starts and manages these hosts and the programs on them, and updates this policy for what "
        "they need",
        f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{name}]",
    )


def _requirements(instance_type: str) -> _Provider.InstanceRequirementsRequestProperty:
    """Return requirements that only one instance type meets; EC2 requires CPUs and memory in addition to its name."""
    facts = ec2_facts_of(instance_type)
    vcpus, memory_mib = (facts.vcpus, int(facts.memory_gib * 1024)) if facts else (1, 1)
    return _Provider.InstanceRequirementsRequestProperty(
        allowed_instance_types=[instance_type],
        v_cpu_count=_Provider.VCpuCountRangeRequestProperty(min=vcpus),
        memory_mib=_Provider.MemoryMiBRequestProperty(min=memory_mib),
    )


def add_capacity(
    scope: Construct, plan: ServicePlan, *, network: Network, cluster: ecs.CfnCluster, log: ServiceLog
) -> Ec2Capacity | ManagedCapacity:
    """Return the construct `Capacity` in `scope`: one kind, since ECS does not mix both in a service."""
    spec = plan.spec
    common: dict[str, Any] = {
        "hosts": spec.hosts,
        "instance_type": spec.instance_type,
        "network": network,
        "cluster_name": cluster.ref,
        "service_name": plan.name,
        "image_gib": model_servers()[plan.server.kind].image_gib,
    }
    if spec.hosts.managed:
        return ManagedCapacity(scope, "Capacity", **common)
    return Ec2Capacity(
        scope,
        "Capacity",
        **common,
        tasks=spec.tasks,
        driver_version=driver_for(plan.server),
        log_group=log.log_group,
        mount=model_mount(plan.model),
        # Mountpoint runs on the host, so the host reads the model, and containers have no permission to.
        model_permissions=model_permissions(plan.model, partition=cdk.Stack.of(scope).partition),
        waits=True,
    )
