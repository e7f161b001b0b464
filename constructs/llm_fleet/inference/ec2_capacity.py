"""The capacity of a service on hosts of ours."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct, DependencyGroup, IDependable

from llm_fleet.catalog.neuron import default_root_gib, host_facts
from llm_fleet.iam.statements import Permission, Place
from llm_fleet.inference.capacity_provider_name import capacity_provider_name
from llm_fleet.inference.host_group import HostGroup
from llm_fleet.inference.host_launch_template import HostLaunchTemplate
from llm_fleet.inference.host_permissions import host_permissions
from llm_fleet.inference.host_role import HostRole
from llm_fleet.inference.host_security_group import HostSecurityGroup
from llm_fleet.inference.host_settings import host_settings
from llm_fleet.inference.host_user_data import host_user_data
from llm_fleet.inference.model_mount import ModelMount
from llm_fleet.network.network import Network
from llm_fleet.rules.inference.hosts import check_driver_source
from llm_fleet.rules.problem import raise_problems
from llm_fleet.spec.service import Hosts, TaskCount


class Ec2Capacity(Construct):
    """An auto scaling group of hosts, its capacity provider, and the provider's place in the cluster.

    Managed termination protection is off: a protected host outlives its stack, whose deletion then hangs. Managed
    draining is on in its place: a host that goes lets its task finish first, also when it held the only one.
    """

    compatibility = "EC2"
    """`RequiresCompatibilities` of task definitions."""

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
        super().__init__(scope, id)
        driver = hosts.driver_version or driver_version
        raise_problems(
            [each.under("hosts") for each in check_driver_source(hosts, driver, internet=network.internet)],
            subject=self.node.path,
        )
        stack = cdk.Stack.of(self)
        name = f"{service_name}/host"
        self.security_group: ec2.ISecurityGroup = HostSecurityGroup(self, "SecurityGroup", vpc=network.vpc)
        """The hosts' own group; tasks have another."""
        self._role = HostRole(
            self,
            "Role",
            description=f"Hosts of the inference service {service_name}",
            permissions=host_permissions(
                Place.of(self),
                cluster_name=cluster_name,
                log_group_arn=stack.format_arn(
                    service="logs",
                    resource="log-group",
                    arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
                    resource_name=log_group.ref,
                ),
                stack_id=stack.stack_id,
                model=model_permissions,
            ),
        )
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
        """The capacity provider."""
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
    def capacity_provider_name(self) -> str:
        """Name of the capacity provider, a token."""
        return self.provider.ref

    @property
    def role(self) -> iam.IRole:
        """The hosts' role."""
        return self._role.role

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """What the hosts may do, each with its reason."""
        return self._role.permissions

    @property
    def connections(self) -> ec2.Connections:
        """The connections of the hosts' own security group."""
        return self.security_group.connections

    @property
    def dependencies(self) -> IDependable:
        """What a service must wait for; the hosts come when its tasks ask for them."""
        return DependencyGroup(self.association)

    @property
    def placement_constraints(self) -> list[ecs.CfnService.PlacementConstraintProperty]:
        """One task a host: ECS does not count Neuron devices on EC2, and two servers cannot share one."""
        return [ecs.CfnService.PlacementConstraintProperty(type="distinctInstance")]

    def _make_provider(self, tasks: TaskCount) -> ecs.CfnCapacityProvider:
        provider = ecs.CfnCapacityProvider
        return ecs.CfnCapacityProvider(
            self,
            "Provider",
            name=capacity_provider_name(self),
            auto_scaling_group_provider=provider.AutoScalingGroupProviderProperty(
                auto_scaling_group_arn=self.group.resource.ref,
                managed_draining="ENABLED",
                managed_termination_protection="DISABLED",
                managed_scaling=provider.ManagedScalingProperty(
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
