"""What the rules of HyperPod ask of a cluster and its groups: read-only attributes, all plain values.

The construct's value classes and the fleet file's models both have this shape, so that one rule serves both.
Any value may be an unresolved CDK token; the rules pass over those.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from llm_fleet.rules.terms import NodeProvisioningMode, NodeRecovery, SlurmConfigStrategy
from llm_fleet.spec.instance_group import InstanceGroup


class MountLike(Protocol):
    """A file system that every group of the cluster mounts."""

    @property
    def kind(self) -> Literal["lustre", "open_zfs"]:
        """Which of the two file systems it is."""
        ...

    @property
    def mount_path(self) -> str:
        """Where the nodes mount it."""
        ...

    @property
    def availability_zone_id(self) -> str | None:
        """The zone it stands in, where known."""
        ...


class AccountingDatabaseLike(Protocol):
    """An external MySQL database for slurmdbd (`AccountingDatabase`)."""

    @property
    def endpoint(self) -> str:
        """Host name of the database."""
        ...

    @property
    def secret_arn(self) -> str:
        """Secret with its user and password."""
        ...

    @property
    def port(self) -> int | None:
        """Its port; `None` for 3306."""
        ...

    @property
    def database_name(self) -> str | None:
        """Schema; `None` for one named after the cluster's id."""
        ...


class ClusterLike(Protocol):
    """A cluster."""

    @property
    def cluster_name(self) -> str | None:
        """`ClusterName`; `None` where CloudFormation makes one."""
        ...

    @property
    def groups(self) -> Sequence[InstanceGroup]:
        """Its instance groups."""
        ...

    @property
    def region(self) -> str | None:
        """Where it stands."""
        ...

    @property
    def account(self) -> str | None:
        """Whose it is."""
        ...

    @property
    def node_provisioning_mode(self) -> NodeProvisioningMode | None:
        """`CONTINUOUS`, or `None` for all or nothing."""
        ...

    @property
    def node_recovery(self) -> NodeRecovery:
        """Whether HyperPod mends nodes by itself."""
        ...

    @property
    def slurm_config_strategy(self) -> SlurmConfigStrategy | None:
        """How edits of slurm.conf are treated."""
        ...

    @property
    def accounting_database(self) -> AccountingDatabaseLike | None:
        """External database for slurmdbd; `None` for the controller's own."""
        ...

    @property
    def has_vpc(self) -> bool:
        """Whether the cluster stands in a VPC of the user (`VpcConfig`)."""
        ...

    @property
    def subnet_ids(self) -> Sequence[str]:
        """Subnets of the cluster; may be empty where not known yet."""
        ...

    @property
    def security_group_ids(self) -> Sequence[str]:
        """Security groups of the cluster; likewise."""
        ...

    @property
    def availability_zone_id(self) -> str | None:
        """The zone of its subnets where it is one and known."""
        ...

    @property
    def mounts(self) -> Sequence[MountLike]:
        """File systems of every node."""
        ...

    @property
    def lifecycle_source_s3_uri(self) -> str | None:
        """Where the lifecycle scripts lie (`SourceS3Uri`); `None` stands for llm-fleet's own bundle."""
        ...

    @property
    def tags(self) -> Mapping[str, str]:
        """Tags of the cluster."""
        ...
