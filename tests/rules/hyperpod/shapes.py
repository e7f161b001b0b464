"""A cluster that every rule accepts, as plain values of the protocols' shape; a test spoils one of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from llm_fleet.rules.terms import NodeProvisioningMode, NodeRecovery, SlurmConfigStrategy
from llm_fleet.spec.instance_group import InstanceGroup


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
    groups: Sequence[InstanceGroup]
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


SCRIPT = "on_init_complete.sh"
CONTROLLER = InstanceGroup.controller("ml.m5.xlarge", name="controller-group", on_init_complete=SCRIPT)
LOGIN = InstanceGroup.login("ml.m5.xlarge", name="login-group", on_init_complete=SCRIPT)
WORKERS = InstanceGroup.workers("worker-group", "ml.trn1.32xlarge", count=4, partition="trn1", on_init_complete=SCRIPT)


def cluster(*groups: InstanceGroup, **changes: Any) -> Cluster:
    """The launch post's cluster, or one of `groups`, with `changes`."""
    return replace(Cluster(groups=groups or (CONTROLLER, WORKERS), tags={"team": "research"}), **changes)


def changed(group: InstanceGroup, **changes: Any) -> InstanceGroup:
    """`group` with `changes`."""
    return InstanceGroup(**{**group.__dict__, **changes})


def cluster_with(**changes: Any) -> Cluster:
    """The launch post's cluster with `changes` in its group of workers."""
    return cluster(CONTROLLER, changed(WORKERS, **changes))
