"""The further fields of `InstanceGroup`, as keywords of its factories, so that a type checker sees a misspelt one."""

from collections.abc import Sequence
from typing import TypedDict

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk.interfaces.aws_kms import IKeyRef

from llm_fleet.hyperpod.auto_patch import AutoPatch
from llm_fleet.hyperpod.network_interface_type import NetworkInterfaceType
from llm_fleet.hyperpod.scheduled_update import ScheduledUpdate
from llm_fleet.rules.terms import DeepHealthCheck


class GroupOptions(TypedDict, total=False):
    """What `InstanceGroup` says of each; a test keeps the two alike."""

    min_count: int | None
    threads_per_core: int | None
    on_create: str | None
    on_init_complete: str | None
    lifecycle: bool
    ebs_volume_gib: int | None
    ebs_volume_key: IKeyRef | None
    root_volume_key: IKeyRef | None
    mount_lustre: bool
    mount_open_zfs: bool
    deep_health_checks: Sequence[DeepHealthCheck]
    training_plan_arn: str | None
    training_plan_availability_zone_id: str | None
    spot: bool
    image_id: str | None
    image_release_version: str | None
    network_interface: NetworkInterfaceType | None
    availability_zone_id: str | None
    subnets: Sequence[ec2.ISubnet | ec2.Subnet]
    security_groups: Sequence[ec2.ISecurityGroup]
    execution_role: iam.IRole | iam.Role | None
    scheduled_update: ScheduledUpdate | None
    auto_patch: AutoPatch | None
