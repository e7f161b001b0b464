"""A cluster as the rules of HyperPod see it: plain values, tokens where only the deployment knows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from llm_fleet.accounting.accounting_database import AccountingDatabase
from llm_fleet.rules.terms import NodeProvisioningMode, NodeRecovery, SlurmConfigStrategy
from llm_fleet.spec.instance_group import InstanceGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class MountShape:
    """A file system that nodes mount, and where."""

    kind: Literal["lustre", "open_zfs"]
    dns_name: str
    mount_path: str
    availability_zone_id: str | None
    mount_name: str | None = None
    efa: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterShape:
    """A cluster with every default filled in (`rules.hyperpod_protocols.ClusterLike`)."""

    cluster_name: str | None
    groups: Sequence[InstanceGroup]
    region: str | None
    account: str | None
    node_provisioning_mode: NodeProvisioningMode | None
    node_recovery: NodeRecovery
    slurm_config_strategy: SlurmConfigStrategy | None
    accounting_database: AccountingDatabase | None
    has_vpc: bool
    subnet_ids: Sequence[str]
    security_group_ids: Sequence[str]
    availability_zone_id: str | None
    mounts: Sequence[MountShape]
    lifecycle_source_s3_uri: str | None
    tags: Mapping[str, str]
    api_driven: bool = True
    """Whether HyperPod learns node types, partitions and mounts from the API, not from a file among the scripts."""
