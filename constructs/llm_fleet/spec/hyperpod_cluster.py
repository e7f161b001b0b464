"""A HyperPod cluster, and the cluster together with its dependencies, which the rules check."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from llm_fleet.rules.terms import LifecycleHook, NodeProvisioningMode, NodeRecovery, NodeType, SlurmConfigStrategy
from llm_fleet.spec.cluster import ClusterSpec, LifecycleScripts, NodeGroup, NodeMount
from llm_fleet.spec.instance_group import InstanceGroup, Lifecycle
from llm_fleet.spec.slurm_database import AccountingDatabase
from llm_fleet.spec.values import InFile, Several


class Provisioning(StrEnum):
    """How HyperPod provisions instances, as values of the fleet file."""

    CONTINUOUS = "Continuous"
    NONE = "none"
    """All instances or none, the service's older way."""

    @property
    def mode(self) -> NodeProvisioningMode | None:
        """The API's value; `None` where the API has none."""
        return None if self is Provisioning.NONE else NodeProvisioningMode(self.value)


class HyperPodClusterSpec(ClusterSpec):
    """A SageMaker HyperPod cluster with Slurm."""

    groups: Annotated[
        Several[InstanceGroup],
        InFile(Mapping[str, InstanceGroup], lambda groups: tuple(groups.values())),
        Field(examples=[{}, "{controller: {role: controller, type: ml.m5.xlarge, count: 1}}"]),
    ]
    """Instance groups, 1 to 100; by name in a fleet file. Exactly one must be the controller."""
    node_provisioning_mode: Annotated[
        NodeProvisioningMode | None, InFile(Provisioning, lambda word: word.mode), Field(alias="provisioning")
    ] = NodeProvisioningMode.CONTINUOUS
    """How HyperPod provisions instances. Default: `Continuous`: the controller first, then as many nodes as capacity
    allows. `none` provisions all nodes or none."""
    node_recovery: NodeRecovery = NodeRecovery.AUTOMATIC
    """Whether HyperPod replaces faulty nodes automatically. Default: `Automatic`."""
    slurm_config_strategy: Annotated[SlurmConfigStrategy | None, Field(alias="slurm_config")] = None
    """Who controls slurm.conf. Remove it with Continuous provisioning, which always merges. Otherwise the default is
    `Merge`."""
    accounting_database: Annotated[AccountingDatabase | None, Field(alias="accounting")] = None
    """Where Slurm's accounting data is stored. Default: a database on the controller."""
    lifecycle: Lifecycle = Lifecycle.ON_INIT_COMPLETE
    """When nodes run the lifecycle bundle. Default: `OnInitComplete`, after the AMI has configured Slurm."""
    scripts: LifecycleScripts = LifecycleScripts()
    """Source of the lifecycle bundle. Default: llm-fleet's own scripts."""

    @property
    def by_name(self) -> Mapping[str, InstanceGroup]:
        """Its groups by their names."""
        return {group.name: group for group in self.groups}

    @property
    def running_groups(self) -> tuple[InstanceGroup, ...]:
        """Instance groups in order, with the scripts that their nodes run."""
        return tuple(group.running(self.lifecycle, self.scripts.entry_point) for group in self.groups)

    @property
    def controller_hook(self) -> LifecycleHook | None:
        """When the controller runs the bundle; `None` for never."""
        hooks = [group.hook for group in self.running_groups if group.node_type is NodeType.CONTROLLER]
        return next((hook for hook in hooks if hook is not None), None)

    @property
    def effective_strategy(self) -> SlurmConfigStrategy | None:
        """Who controls slurm.conf. Set explicitly so that edits are kept: AWS's documents contradict each other on the
        default."""
        if self.slurm_config_strategy is None and self.node_provisioning_mode is None:
            return SlurmConfigStrategy.MERGE
        return self.slurm_config_strategy

    @property
    def continuous(self) -> bool:
        """Whether instances are provisioned one by one."""
        return self.node_provisioning_mode is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedCluster:
    """A cluster with all defaults and with its dependencies: the input of its rules, from the fleet file and from
    Python.

    Any value may be a CDK token.
    """

    spec: HyperPodClusterSpec
    """Its groups have their scripts; of a construct, also their AZs and subnets. Its AZ is that of its subnets, if they
    share one that is known."""
    region: str | None
    account: str | None = None
    """`None` in a fleet file: the account of the credentials is used."""
    has_vpc: bool = True
    """Whether the cluster is in a VPC of the user (`VpcConfig`)."""
    subnet_ids: Sequence[str] = ()
    """Subnets of the cluster; empty in a fleet file, where the network makes or checks them."""
    security_group_ids: Sequence[str] = ()
    """Security groups of the cluster; empty in a fleet file, like `subnet_ids`."""
    mounts: Sequence[NodeMount] = ()
    """File systems that every group mounts, unless the group excludes them."""
    lifecycle_source_s3_uri: str | None = None
    """S3 URI of the lifecycle scripts (`SourceS3Uri`), if known."""

    @property
    def groups(self) -> Sequence[InstanceGroup]:
        """Its groups, in the order of the template."""
        return self.spec.groups

    @property
    def api_driven(self) -> bool:
        """Whether HyperPod reads node types, partitions and mounts from the API, not from a file among the scripts."""
        return not self.spec.scripts.legacy

    @property
    def node_groups(self) -> list[NodeGroup]:
        """Its groups, with the values that are written to the nodes."""
        return [
            NodeGroup(
                name=group.name,
                role=group.node_type,
                # Not plain strings: a type made by `InstanceType.of` carries its own facts.
                instance_types=group.types,
                partition=group.partition,
                hook=group.hook,
                script=group.script,
            )
            for group in self.groups
        ]

    @property
    def node_mounts(self) -> list[NodeMount]:
        """Its file systems, each with the groups that mount it where not all do."""
        mounting = {mount.kind: [each.name for each in self.groups if each.mounts(mount.kind)] for mount in self.mounts}
        return [
            mount if len(mounting[mount.kind]) == len(self.groups) else replace(mount, groups=mounting[mount.kind])
            for mount in self.mounts
        ]

    def zone_of(self, group: InstanceGroup) -> str | None:
        """Return the AZ id of the group's subnets, or `None` when it is not known."""
        if group.availability_zone_id is not None or group.subnets:
            return group.availability_zone_id
        return self.spec.availability_zone_id
