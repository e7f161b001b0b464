"""What the rules of HyperPod ask of a cluster and its groups: read-only attributes, all plain values.

The construct's value classes and the fleet file's models both have this shape, so that one rule serves both.
Any value may be an unresolved CDK token; the rules pass over those.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from llm_fleet.rules.hyperpod_update_protocols import AutoPatchLike, ScheduledUpdateLike
from llm_fleet.rules.terms import (
    DeepHealthCheck,
    NodeProvisioningMode,
    NodeRecovery,
    NodeType,
    SlurmConfigStrategy,
)


class GroupLike(Protocol):
    """An instance group."""

    @property
    def name(self) -> str:
        """`InstanceGroupName`."""
        ...

    @property
    def node_type(self) -> NodeType:
        """Its role in Slurm."""
        ...

    @property
    def instance_type(self) -> str | None:
        """The `ml.` name, or an `InstanceType`; `None` with `instance_types`."""
        ...

    @property
    def instance_types(self) -> Sequence[str]:
        """Flexible types by priority (`InstanceRequirements`); empty with `instance_type`."""
        ...

    @property
    def count(self) -> int:
        """`InstanceCount`."""
        ...

    @property
    def min_count(self) -> int | None:
        """`MinInstanceCount`."""
        ...

    @property
    def partition(self) -> str | None:
        """Slurm partition of its nodes."""
        ...

    @property
    def threads_per_core(self) -> int | None:
        """1 turns hyper-threading off; `None` leaves it as it is."""
        ...

    @property
    def on_create(self) -> str | None:
        """File name of the script that runs in place of the AMI's configuration."""
        ...

    @property
    def on_init_complete(self) -> str | None:
        """File name of the script that runs after it; with neither, the AMI does all."""
        ...

    @property
    def ebs_volume_gib(self) -> int | None:
        """Secondary volume at /opt/sagemaker."""
        ...

    @property
    def mount_lustre(self) -> bool:
        """Whether its nodes mount the cluster's Lustre."""
        ...

    @property
    def mount_open_zfs(self) -> bool:
        """Whether its nodes mount the cluster's OpenZFS."""
        ...

    @property
    def deep_health_checks(self) -> Sequence[DeepHealthCheck]:
        """Stress tests before a node joins; none when empty."""
        ...

    @property
    def training_plan_arn(self) -> str | None:
        """Reserved capacity to take nodes from."""
        ...

    @property
    def training_plan_availability_zone_id(self) -> str | None:
        """The plan's own zone where the user told it: its ARN does not hold it."""
        ...

    @property
    def spot(self) -> bool:
        """Whether nodes come from spot capacity."""
        ...

    @property
    def image_id(self) -> str | None:
        """`ami-…` or `default`."""
        ...

    @property
    def image_release_version(self) -> str | None:
        """Release of HyperPod's own AMI."""
        ...

    @property
    def availability_zone_id(self) -> str | None:
        """The zone of its subnet; `None` when it is the cluster's, or not known."""
        ...

    @property
    def override_subnet_ids(self) -> Sequence[str]:
        """Subnets of its own in place of the cluster's (`OverrideVpcConfig`)."""
        ...

    @property
    def override_security_group_ids(self) -> Sequence[str]:
        """Security groups of its own, with `override_subnet_ids`."""
        ...

    @property
    def scheduled_update(self) -> ScheduledUpdateLike | None:
        """When its software is updated."""
        ...

    @property
    def auto_patch(self) -> AutoPatchLike | None:
        """How it is patched by itself."""
        ...


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
    def groups(self) -> Sequence[GroupLike]:
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
