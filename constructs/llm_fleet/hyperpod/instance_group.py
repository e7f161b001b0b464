"""A group of like nodes in a HyperPod cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Unpack

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk.interfaces.aws_kms import IKeyRef

from llm_fleet.hyperpod.auto_patch import AutoPatch
from llm_fleet.hyperpod.group_options import GroupOptions
from llm_fleet.hyperpod.network_interface_type import NetworkInterfaceType
from llm_fleet.hyperpod.scheduled_update import ScheduledUpdate
from llm_fleet.rules.terms import DeepHealthCheck, NodeType


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceGroup:
    """A group of like nodes (`ClusterInstanceGroup`).

    Make one with `controller`, `login` or `workers`. Nothing is checked here: the cluster checks all its groups
    together and tells every problem at once. The order of groups in the cluster is the order in the template.
    """

    name: str
    """1 to 63 letters, digits and single hyphens inside. It is part of every node's SSM target."""
    node_type: NodeType
    """What its nodes do in Slurm. It cannot be changed later."""
    instance_type: str | None = None
    """With its prefix, e.g. `ml.trn1.32xlarge`. Default: see `instance_types`."""
    instance_types: Sequence[str] = ()
    """In place of `instance_type`: 1 to 20 types, best first; HyperPod takes what it gets. Default: none."""
    count: int = 1
    """How many nodes, 0 to 6758."""
    min_count: int | None = None
    """How many must be there within 3 hours, else the group goes back to what it was; Continuous only.

    Default of the service: 1 for controller and login, 0 for workers."""
    partition: str | None = None
    """The Slurm partition of its nodes, for workers only. Default: none; `workers` takes the group's name."""
    threads_per_core: int | None = None
    """1 turns hyper-threading off, 2 turns it on. Default: as the instance type comes."""
    on_create: str | None = None
    """A script of the bundle that runs in place of the AMI's configuration. Default: as the cluster's `lifecycle`."""
    on_init_complete: str | None = None
    """A script of the bundle that runs after the AMI's configuration. Default: as the cluster's `lifecycle`."""
    lifecycle: bool = True
    """`False` runs no script on these nodes, and the AMI does it all. Default: as the cluster's `lifecycle`."""
    ebs_volume_gib: int | None = None
    """A second volume at /opt/sagemaker, 1 to 16384 GiB; the root volume has 100. Default: none."""
    ebs_volume_key: IKeyRef | None = None
    """Encrypts the second volume. Default: a key that AWS owns."""
    root_volume_key: IKeyRef | None = None
    """Encrypts the root volume. Default: a key that AWS owns."""
    mount_lustre: bool = True
    """Whether its nodes mount the cluster's FSx for Lustre."""
    mount_open_zfs: bool = True
    """Whether its nodes mount the cluster's FSx for OpenZFS."""
    deep_health_checks: Sequence[DeepHealthCheck] = ()
    """Stress tests that a node must pass before it joins. Default: none, since they take an hour or more."""
    training_plan_arn: str | None = None
    """Reserved capacity to take the nodes from. Default: the on-demand pool."""
    training_plan_availability_zone_id: str | None = None
    """The AZ id of the plan, which its ARN does not tell; checked against the subnet's. Default: not checked."""
    spot: bool = False
    """Whether the nodes are spot instances, which AWS may take back."""
    image_id: str | None = None
    """An image of your own, built from HyperPod's, e.g. `ami-0123456789abcdef0`. Default: HyperPod's newest."""
    image_release_version: str | None = None
    """API only on Slurm: CloudFormation knows it for EKS alone, so a cluster refuses it (LF570)."""
    network_interface: NetworkInterfaceType | None = None
    """What EFA interfaces the nodes get. Default: the service chooses by instance type."""
    availability_zone_id: str | None = None
    """The AZ of its nodes, one that the network has a compute subnet in. Default: the cluster's.

    EFA does not cross AZs; put groups that train together into one.
    """
    subnets: Sequence[ec2.ISubnet | ec2.Subnet] = ()
    """Subnets in place of the cluster's. They cannot be changed later. Default: by `availability_zone_id`."""
    security_groups: Sequence[ec2.ISecurityGroup] = ()
    """Security groups in place of the cluster's, 5 at most. Default: the cluster's.

    Each needs rules from and to itself for all traffic, else EFA's health check fails: make them `EfaSecurityGroup`s.
    Clusters of several stacks that share an existing one: import it once, in a stack that all of them stand on, and
    give each cluster that object, because EC2 refuses a rule that exists.
    """
    execution_role: iam.IRole | iam.Role | None = None
    """What its nodes may do. Default: the cluster's role."""
    scheduled_update: ScheduledUpdate | None = None
    """When its nodes get the newest image. Default: when you ask for it."""
    auto_patch: AutoPatch | None = None
    """How HyperPod patches its nodes by itself. Default: it does not."""

    @classmethod
    def controller(
        cls, instance_type: str, *, name: str = "controller", count: int = 1, **options: Unpack[GroupOptions]
    ) -> "InstanceGroup":
        """Return the group of one node that runs slurmctld. A cluster has exactly one; `options` are the fields."""
        return cls(name=name, node_type=NodeType.CONTROLLER, instance_type=instance_type, count=count, **options)

    @classmethod
    def login(
        cls, instance_type: str, *, name: str = "login", count: int = 1, **options: Unpack[GroupOptions]
    ) -> "InstanceGroup":
        """Return the group whose nodes users log in to. A cluster has one at most; `options` are the fields.

        Its nodes run slurmd too and are in HyperPod's partition `dev`, so that jobs can land on them.
        """
        return cls(name=name, node_type=NodeType.LOGIN, instance_type=instance_type, count=count, **options)

    @classmethod
    def workers(
        cls,
        name: str,
        instance_type: str | Sequence[str],
        *,
        count: int,
        partition: str | None = None,
        **options: Unpack[GroupOptions],
    ) -> "InstanceGroup":
        """Return a group whose nodes run jobs, in a Slurm partition of its own name unless told otherwise.

        Several instance types make it flexible: HyperPod takes the first that it gets. `options` are the fields.
        """
        one = instance_type if isinstance(instance_type, str) else None
        return cls(
            name=name,
            node_type=NodeType.COMPUTE,
            instance_type=one,
            instance_types=() if one is not None else tuple(instance_type),
            count=count,
            partition=name if partition is None else partition,
            **options,
        )

    @property
    def override_subnet_ids(self) -> Sequence[str]:
        """The ids of `subnets`."""
        return tuple(subnet.subnet_id for subnet in self.subnets)

    @property
    def override_security_group_ids(self) -> Sequence[str]:
        """The ids of `security_groups`."""
        return tuple(group.security_group_id for group in self.security_groups)

    def mounts(self, kind: Literal["lustre", "open_zfs"]) -> bool:
        """Return whether its nodes mount the cluster's file system of that kind."""
        return self.mount_lustre if kind == "lustre" else self.mount_open_zfs
