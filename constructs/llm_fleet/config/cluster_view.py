"""A cluster of the fleet file as the rules of HyperPod see it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llm_fleet.config.accounting import AccountingConfig
from llm_fleet.config.cluster import HyperPodConfig
from llm_fleet.config.fleet import Fleet
from llm_fleet.config.mount_view import MountView
from llm_fleet.config.zones import first_zone, zone_of_fsx, zone_of_home
from llm_fleet.rules.terms import NodeProvisioningMode, NodeRecovery, SlurmConfigStrategy
from llm_fleet.spec.instance_group import InstanceGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """A cluster with what the rest of the fleet file says of it (`ClusterLike`)."""

    fleet: Fleet
    config: HyperPodConfig

    @property
    def cluster_name(self) -> str:
        """The name that AWS knows it by."""
        return self.config.cluster_name

    @property
    def groups(self) -> Sequence[InstanceGroup]:
        """Its groups, in the order of the file, with the scripts that their nodes run."""
        return self.config.running_groups

    @property
    def region(self) -> str:
        """The fleet's."""
        return self.fleet.region

    @property
    def account(self) -> str | None:
        """Not told in a fleet file: it is that of the credentials."""
        return None

    @property
    def node_provisioning_mode(self) -> NodeProvisioningMode | None:
        """As written."""
        return self.config.node_provisioning_mode

    @property
    def node_recovery(self) -> NodeRecovery:
        """As written."""
        return self.config.node_recovery

    @property
    def slurm_config_strategy(self) -> SlurmConfigStrategy | None:
        """As written, else `Merge` where one must be told, so that edits of slurm.conf survive."""
        if self.config.slurm_config_strategy is None and self.node_provisioning_mode is None:
            return SlurmConfigStrategy.MERGE
        return self.config.slurm_config_strategy

    @property
    def accounting_database(self) -> AccountingConfig | None:
        """As written."""
        return self.config.accounting_database

    @property
    def has_vpc(self) -> bool:
        """Whether the fleet has a network."""
        return self.fleet.network is not None

    @property
    def subnet_ids(self) -> Sequence[str]:
        """Not known: the network makes them, or checks them itself."""
        return ()

    @property
    def security_group_ids(self) -> Sequence[str]:
        """Not known, likewise."""
        return ()

    @property
    def availability_zone_id(self) -> str | None:
        """As written, else that of the fleet's file system, else the network's first."""
        return self.config.availability_zone_id or zone_of_fsx(self.fleet) or first_zone(self.fleet)

    @property
    def mounts(self) -> Sequence[MountView]:
        """The fleet's file systems."""
        storage = self.fleet.storage
        mounts: list[MountView] = []
        if storage.fsx is not None:
            zone = zone_of_fsx(self.fleet)
            mounts.append(MountView(kind="lustre", mount_path=storage.fsx.mount_path, availability_zone_id=zone))
        if storage.home is not None:
            zone = zone_of_home(self.fleet)
            mounts.append(MountView(kind="open_zfs", mount_path=storage.home.mount_path, availability_zone_id=zone))
        return mounts

    @property
    def lifecycle_source_s3_uri(self) -> str | None:
        """The user's own place; where it is left to the fleet, one that is sure to be good."""
        scripts = self.config.scripts
        return f"s3://{scripts.bucket_name or 'sagemaker-made-by-the-fleet'}/{scripts.prefix or ''}"

    @property
    def tags(self) -> Mapping[str, str]:
        """Its own; those of the fleet are checked where they are written."""
        return self.config.tags
