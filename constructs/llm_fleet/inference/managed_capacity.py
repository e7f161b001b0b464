"""The capacity of a service on hosts that ECS runs."""

from typing import cast

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct, DependencyGroup, IDependable

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.ec2_instances import ec2_facts_of
from llm_fleet.catalog.neuron import default_root_gib
from llm_fleet.inference.capacity_provider_name import capacity_provider_name
from llm_fleet.inference.host_security_group import HostSecurityGroup
from llm_fleet.network.network import Network
from llm_fleet.spec.service import Hosts

_MIB_PER_GIB = 1024
_Provider = ecs.CfnCapacityProvider


class ManagedCapacity(Construct):
    """A capacity provider of ECS Managed Instances.

    It is made in its cluster: ECS refuses to associate one of these with a cluster a second time.

    What AWS's own programs need on hosts of AWS's own choosing is AWS's to say: both roles carry AWS's policies for
    them. ECS may hand the hosts this one instance role, whatever it is called, and no other.
    """

    compatibility = "MANAGED_INSTANCES"
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
        image_gib: int,
    ) -> None:
        """Make it. `image_gib`: what the server's image takes unpacked, in GiB; the data volume follows from it."""
        super().__init__(scope, id)
        self.security_group: ec2.ISecurityGroup = HostSecurityGroup(self, "SecurityGroup", vpc=network.vpc)
        """The hosts' own group; tasks have another."""
        self._role, profile = self._make_instance_role(service_name)
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
        """The capacity provider."""
        # Hosts reach ECS and the registries as soon as they boot.
        self.provider.node.add_dependency(network.connectivity)

    @property
    def capacity_provider_name(self) -> str:
        """Name of the capacity provider, a token."""
        return self.provider.ref

    @property
    def role(self) -> iam.IRole:
        """The hosts' role."""
        return self._role

    @property
    def connections(self) -> ec2.Connections:
        """The connections of the hosts' own security group."""
        return self.security_group.connections

    @property
    def dependencies(self) -> IDependable:
        """What a service must wait for."""
        return DependencyGroup(self.provider)

    @property
    def placement_constraints(self) -> list[ecs.CfnService.PlacementConstraintProperty]:
        """None: a task that asks for `NeuronDevice` has its host to itself."""
        return []

    @property
    def resource_requirements(self) -> list[ecs.CfnTaskDefinition.ResourceRequirementProperty]:
        """What the server's container asks for: all Neuron devices of a host; ECS takes no other number."""
        return [ecs.CfnTaskDefinition.ResourceRequirementProperty(type="NeuronDevice", value="ALL")]

    def _make_instance_role(self, service_name: str) -> tuple[iam.IRole, iam.CfnInstanceProfile]:
        role = iam.Role(
            self,
            "Role",
            description=f"Managed Instances of the inference service {service_name}",
            assumed_by=cast(iam.IPrincipal, iam.ServicePrincipal("ec2.amazonaws.com")),
            managed_policies=[_managed("AmazonECSInstanceRolePolicyForManagedInstances")],
        )
        _acknowledge_managed(role, "AmazonECSInstanceRolePolicyForManagedInstances")
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
                    resources=[self._role.role_arn],
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
                _managed("AmazonECSInfrastructureRolePolicyForManagedInstances"),
                cast(iam.IManagedPolicy, policy),
            ],
        )
        _acknowledge_managed(role, "AmazonECSInfrastructureRolePolicyForManagedInstances")
        return cast(iam.IRole, role)


def _managed(name: str) -> iam.IManagedPolicy:
    return iam.ManagedPolicy.from_aws_managed_policy_name(name)


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
    vcpus, memory_mib = (facts.vcpus, int(facts.memory_gib * _MIB_PER_GIB)) if facts else (1, 1)
    return _Provider.InstanceRequirementsRequestProperty(
        allowed_instance_types=[instance_type],
        v_cpu_count=_Provider.VCpuCountRangeRequestProperty(min=vcpus),
        memory_mib=_Provider.MemoryMiBRequestProperty(min=memory_mib),
    )
