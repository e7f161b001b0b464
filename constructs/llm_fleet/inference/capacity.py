"""The capacity of a service: hosts of ours, or hosts that ECS runs."""

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
    """What both kinds of capacity have: hosts in a group of their own, with a role, behind a capacity provider."""

    compatibility: ClassVar[str]
    """`RequiresCompatibilities` of task definitions."""
    provider: ecs.CfnCapacityProvider
    """The capacity provider."""
    role: iam.IRole
    """The hosts' role."""

    def __init__(self, scope: Construct, id: str, *, network: Network) -> None:
        """Make the security group in the VPC of `network`; the rest is the subclass's."""
        super().__init__(scope, id)
        self.security_group: ec2.ISecurityGroup = host_security_group(self, "SecurityGroup", network.vpc)
        """The hosts' own group; tasks have another."""

    @property
    def capacity_provider_name(self) -> str:
        """Name of the capacity provider, a token."""
        return self.provider.ref

    @property
    def connections(self) -> ec2.Connections:
        """The connections of the hosts' own security group."""
        return self.security_group.connections


class Ec2Capacity(_Capacity):
    """An auto scaling group of hosts, its capacity provider, and the provider's place in the cluster.

    Managed termination protection is off: a protected host outlives its stack, whose deletion then hangs. Managed
    draining is on in its place: a host that goes lets its task finish first, also when it held the only one.
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
        """Make it.

        - `driver_version`: `aws-neuronx-dkms` that hosts must have, unless `hosts` says another.
        - `log_group`: where hosts tell how their start went, in streams `host/<instance id>`.
        - `image_gib`: what the server's image takes unpacked, in GiB; the root volume follows from it.
        - `waits`: whether the stack waits for the signal of the first host. Default: no, as no task may ask for one.
        - `mount`: the model in S3, mounted before the ECS agent starts. Default: nothing is mounted.
        - `model_permissions`: what reading the model needs, for the mount acts with the host's role. Default: none.

        Raises `FleetError` (LF734, LF735) when hosts cannot have the driver.
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
        """The hosts."""
        self.first_host: cdk.CfnWaitCondition | None = _first_host(self) if waits else None
        """Complete when a host has signalled that it is well, failed when one has signalled that it is refused. Make it
        depend on what the service depends on: no host starts before a task of the service asks for one."""
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
        """How they are started."""
        self.group.starts_from(self.launch_template.resource)
        # Hosts reach ECS, S3 and the registries as soon as they boot.
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
        """Makes the provider the cluster's; a service that does not wait for it finds no capacity and hangs."""

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """What the hosts may do, each with its reason."""
        return self._role.permissions

    @property
    def dependencies(self) -> IDependable:
        """What a service must wait for; the hosts come when its tasks ask for them."""
        return DependencyGroup(self.association)

    @property
    def placement_constraints(self) -> list[ecs.CfnService.PlacementConstraintProperty]:
        """One task a host: ECS does not count Neuron devices on EC2, and two servers cannot share one."""
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
    """Return what ends a deployment in minutes when hosts are refused; ECS alone would let the tasks wait for hours.

    One signal, not one of each host: managed scaling may start the others only when the first ones have warmed up.
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

    It is made in its cluster: ECS refuses to associate one of these with a cluster a second time.

    What AWS's own programs need on hosts of AWS's own choosing is AWS's to say: both roles carry AWS's policies for
    them. ECS may hand the hosts this one instance role, whatever it is called, and no other.
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
        """Make it. `image_gib`: what the server's image takes unpacked, in GiB; the data volume follows from it."""
        super().__init__(scope, id, network=network)
        self.role, profile = self._make_instance_role(service_name)
        self.infrastructure_role: iam.IRole = self._make_infrastructure_role(service_name)
        """With it ECS starts and ends the hosts."""
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
        # Hosts reach ECS and the registries as soon as they boot.
        self.provider.node.add_dependency(network.connectivity)

    @property
    def dependencies(self) -> IDependable:
        """What a service must wait for."""
        return DependencyGroup(self.provider)

    @property
    def placement_constraints(self) -> list[ecs.CfnService.PlacementConstraintProperty]:
        """None: a task that asks for `NeuronDevice` has its host to itself."""
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
            description=f"Hands its role to the Managed Instances of the inference service {service_name}",
            statements=[
                iam.PolicyStatement(
                    # AWS's own policy lets ECS hand on only roles whose names begin with ecsInstanceRole.
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
        "AWS chooses, starts and runs these hosts and the programs on them, and keeps this policy in step with what "
        "they need",
        f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{name}]",
    )


def _requirements(instance_type: str) -> _Provider.InstanceRequirementsRequestProperty:
    """Return requirements that one instance type alone meets; EC2 asks for CPUs and memory beside its name."""
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
    """Return the construct `Capacity` in `scope`: one or the other, never both, as ECS mixes them in no service."""
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
        # Mountpoint runs on the host, so it is the host that reads the model, and no container may.
        model_permissions=model_permissions(plan.model, partition=cdk.Stack.of(scope).partition),
        waits=True,
    )
