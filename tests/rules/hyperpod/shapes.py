"""A cluster that every rule accepts, as plain values of the protocols' shape; a test spoils one of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from llm_fleet.rules.terms import (
    CapacityUnit,
    DeepHealthCheck,
    NodeProvisioningMode,
    NodeRecovery,
    NodeType,
    OnDrainTimeout,
    PatchingStrategy,
    SlurmConfigStrategy,
)


@dataclass(frozen=True, kw_only=True)
class Batch:
    unit: CapacityUnit = CapacityUnit.INSTANCE_COUNT
    value: int = 1


@dataclass(frozen=True, kw_only=True)
class Deployment:
    maximum_batch_size: Batch | None = Batch()
    rollback_maximum_batch_size: Batch | None = None
    wait_interval_seconds: int | None = None
    alarm_names: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Schedule:
    schedule_expression: str = "cron(0 3 ? * SUN *)"
    deployment: Deployment | None = None


@dataclass(frozen=True, kw_only=True)
class Patch:
    strategy: PatchingStrategy = PatchingStrategy.WHEN_IDLE
    next_patch_date: datetime | None = None
    idle_wait_window_seconds: int | None = None
    drain_timeout_seconds: int | None = None
    on_drain_timeout: OnDrainTimeout | None = None
    deployment: Deployment | None = None


@dataclass(frozen=True, kw_only=True)
class Group:
    name: str = "worker-group"
    node_type: NodeType = NodeType.COMPUTE
    instance_type: str | None = "ml.trn1.32xlarge"
    instance_types: Sequence[str] = ()
    count: int = 4
    min_count: int | None = None
    partition: str | None = "trn1"
    threads_per_core: int | None = None
    on_create: str | None = None
    on_init_complete: str | None = "on_init_complete.sh"
    ebs_volume_gib: int | None = None
    mount_lustre: bool = True
    mount_open_zfs: bool = True
    deep_health_checks: Sequence[DeepHealthCheck] = ()
    training_plan_arn: str | None = None
    training_plan_availability_zone_id: str | None = None
    spot: bool = False
    image_id: str | None = None
    image_release_version: str | None = None
    availability_zone_id: str | None = None
    override_subnet_ids: Sequence[str] = ()
    override_security_group_ids: Sequence[str] = ()
    scheduled_update: Schedule | None = None
    auto_patch: Patch | None = None


@dataclass(frozen=True, kw_only=True)
class Mount:
    kind: Literal["lustre", "open_zfs"] = "lustre"
    mount_path: str = "/fsx"
    availability_zone_id: str | None = "usw2-az4"


@dataclass(frozen=True, kw_only=True)
class Database:
    endpoint: str = "slurm.cluster-abc.us-west-2.rds.amazonaws.com"
    secret_arn: str = "arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf"
    port: int | None = None
    database_name: str | None = None


@dataclass(frozen=True, kw_only=True)
class Cluster:
    groups: Sequence[Group]
    cluster_name: str | None = "ml-cluster"
    region: str | None = "us-west-2"
    account: str | None = "111122223333"
    node_provisioning_mode: NodeProvisioningMode | None = NodeProvisioningMode.CONTINUOUS
    node_recovery: NodeRecovery = NodeRecovery.AUTOMATIC
    slurm_config_strategy: SlurmConfigStrategy | None = None
    accounting_database: Database | None = None
    has_vpc: bool = True
    subnet_ids: Sequence[str] = ("subnet-0123456789abcdef0",)
    security_group_ids: Sequence[str] = ("sg-0123456789abcdef0",)
    availability_zone_id: str | None = "usw2-az4"
    mounts: Sequence[Mount] = (Mount(),)
    lifecycle_source_s3_uri: str | None = "s3://sagemaker-ml-cluster/abc/"
    tags: Mapping[str, str] = field(default_factory=dict[str, str])


CONTROLLER = Group(
    name="controller-group",
    node_type=NodeType.CONTROLLER,
    instance_type="ml.m5.xlarge",
    count=1,
    partition=None,
)
LOGIN = replace(CONTROLLER, name="login-group", node_type=NodeType.LOGIN)
WORKERS = Group()


def cluster(*groups: Group, **changes: Any) -> Cluster:
    """The launch post's cluster, or one of `groups`, with `changes`."""
    return replace(Cluster(groups=groups or (CONTROLLER, WORKERS), tags={"team": "research"}), **changes)


def cluster_with(**changes: Any) -> Cluster:
    """The launch post's cluster with `changes` in its group of workers."""
    return cluster(CONTROLLER, replace(WORKERS, **changes))
