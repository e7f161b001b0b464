"""A HyperPod cluster: what it is by itself, and what it stands on, which its rules read together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from llm_fleet.rules.terms import NodeProvisioningMode, NodeRecovery, SlurmConfigStrategy
from llm_fleet.spec.cluster import ClusterSpec
from llm_fleet.spec.instance_group import InstanceGroup
from llm_fleet.spec.slurm_database import AccountingDatabase
from llm_fleet.spec.values import InFile, Several


class Provisioning(StrEnum):
    """How HyperPod brings up the instances, as the fleet file spells it."""

    CONTINUOUS = "Continuous"
    NONE = "none"
    """All or nothing, the service's older way."""

    @property
    def mode(self) -> NodeProvisioningMode | None:
        """The API's word for it; `None` where the API has none."""
        return None if self is Provisioning.NONE else NodeProvisioningMode(self.value)


class HyperPodClusterSpec(ClusterSpec):
    """A SageMaker HyperPod cluster with Slurm, by itself."""

    groups: Annotated[
        Several[InstanceGroup],
        InFile(Mapping[str, InstanceGroup], lambda groups: tuple(groups.values())),
        Field(examples=[{}, "{controller: {role: controller, type: ml.m5.xlarge, count: 1}}"]),
    ]
    """Its instance groups, 1 to 100; by name in a fleet file. Exactly one is the controller."""
    node_provisioning_mode: Annotated[
        NodeProvisioningMode | None, InFile(Provisioning, lambda word: word.mode), Field(alias="provisioning")
    ] = NodeProvisioningMode.CONTINUOUS
    """How instances come up. Default: `Continuous`, the controller first, then what capacity there is; without it, all
    or nothing."""
    node_recovery: NodeRecovery = NodeRecovery.AUTOMATIC
    """Whether HyperPod replaces sick nodes by itself. Default: `Automatic`."""
    slurm_config_strategy: Annotated[SlurmConfigStrategy | None, Field(alias="slurm_config")] = None
    """Who owns slurm.conf. Default: `Merge`, which Continuous provisioning implies and the API refuses beside it."""

    @property
    def by_name(self) -> Mapping[str, InstanceGroup]:
        """Its groups by their names."""
        return {group.name: group for group in self.groups}

    @property
    def effective_strategy(self) -> SlurmConfigStrategy | None:
        """Who owns slurm.conf, so that edits survive: AWS's documents contradict each other on the default."""
        if self.slurm_config_strategy is None and self.node_provisioning_mode is None:
            return SlurmConfigStrategy.MERGE
        return self.slurm_config_strategy

    @property
    def continuous(self) -> bool:
        """Whether instances come up one by one."""
        return self.node_provisioning_mode is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A file system that every group of the cluster mounts, unless the group says otherwise."""

    kind: Literal["lustre", "open_zfs"]
    mount_path: str
    availability_zone_id: str | None
    """The zone it stands in, where known."""
    dns_name: str = ""
    """Only the construct knows it, like what follows."""
    mount_name: str | None = None
    efa: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedCluster:
    """A cluster with every default filled in, and what it stands on: what its rules read, of file and Python alike.

    Any value may be a CDK token.
    """

    spec: HyperPodClusterSpec
    """Its groups have their scripts; of a construct, their zones and subnets too. Its zone is that of its subnets where
    it is one and known."""
    region: str | None
    account: str | None = None
    """`None` in a fleet file: it is that of the credentials."""
    accounting_database: AccountingDatabase | None = None
    """External database for slurmdbd; `None` for the controller's own."""
    has_vpc: bool = True
    """Whether the cluster stands in a VPC of the user (`VpcConfig`)."""
    subnet_ids: Sequence[str] = ()
    """Subnets of the cluster; empty in a fleet file, where the network makes or checks them."""
    security_group_ids: Sequence[str] = ()
    """Security groups of the cluster; likewise."""
    mounts: Sequence[Mount] = ()
    lifecycle_source_s3_uri: str | None = None
    """Where the lifecycle scripts lie (`SourceS3Uri`), as far as it is known; `None` for no scripts."""
    api_driven: bool = True
    """Whether HyperPod learns node types, partitions and mounts from the API, not from a file among the scripts."""

    @property
    def groups(self) -> Sequence[InstanceGroup]:
        """Its groups, in the order of the template."""
        return self.spec.groups

    def zone_of(self, group: InstanceGroup) -> str | None:
        """Return the AZ id that the group stands in, or `None` when it is not known."""
        if group.availability_zone_id is not None or group.subnets:
            return group.availability_zone_id
        return self.spec.availability_zone_id
