"""The instance groups that a fleet file describes, as values of the construct."""

from collections.abc import Callable

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.config.auto_patch import AutoPatchConfig
from llm_fleet.config.batch import Batch
from llm_fleet.config.group import GroupConfig
from llm_fleet.config.rolling import RollingConfig
from llm_fleet.config.schedule import ScheduleConfig
from llm_fleet.hyperpod.auto_patch import AutoPatch
from llm_fleet.hyperpod.batch_size import BatchSize
from llm_fleet.hyperpod.instance_group import InstanceGroup
from llm_fleet.hyperpod.network_interface_type import NetworkInterfaceType
from llm_fleet.hyperpod.rolling_update import RollingUpdate
from llm_fleet.hyperpod.scheduled_update import ScheduledUpdate
from llm_fleet_stacks.imported import imported_key, imported_role, imported_subnet


def instance_group_from(
    scope: Construct, group: GroupConfig, *, security_group: Callable[[str], ec2.ISecurityGroup]
) -> InstanceGroup:
    """Return the group that `group` describes; what it names by id is imported below `scope`.

    `security_group` returns the security group of an id, the same one for every cluster that names it.
    """
    return InstanceGroup(
        name=group.name,
        node_type=group.node_type,
        instance_type=group.instance_type,
        instance_types=group.instance_types,
        count=group.count,
        min_count=group.min_count,
        partition=group.partition,
        threads_per_core=group.threads_per_core,
        on_create=group.on_create,
        on_init_complete=group.on_init_complete,
        lifecycle=bool(group.on_create or group.on_init_complete),
        ebs_volume_gib=group.ebs_volume_gib,
        ebs_volume_key=imported_key(scope, f"EbsVolumeKey-{group.name}", group.ebs_volume_kms_key),
        root_volume_key=imported_key(scope, f"RootVolumeKey-{group.name}", group.root_volume_kms_key),
        mount_lustre=group.mount_lustre,
        mount_open_zfs=group.mount_open_zfs,
        deep_health_checks=group.deep_health_checks,
        training_plan_arn=group.training_plan_arn,
        training_plan_availability_zone_id=group.training_plan_availability_zone_id,
        spot=group.spot,
        image_id=group.image_id,
        network_interface=NetworkInterfaceType(group.network_interface) if group.network_interface else None,
        availability_zone_id=group.availability_zone_id,
        subnets=[
            imported_subnet(scope, f"Subnet-{group.name}-{index}", subnet_id)
            for index, subnet_id in enumerate(group.override_subnet_ids)
        ],
        security_groups=[security_group(group_id) for group_id in group.override_security_group_ids],
        execution_role=imported_role(scope, f"ExecutionRole-{group.name}", group.execution_role_arn),
        scheduled_update=_scheduled_update(group.scheduled_update),
        auto_patch=_auto_patch(group.auto_patch),
    )


def _scheduled_update(config: ScheduleConfig | None) -> ScheduledUpdate | None:
    if config is None:
        return None
    return ScheduledUpdate(schedule_expression=config.schedule_expression, deployment=_rolling(config.deployment))


def _auto_patch(config: AutoPatchConfig | None) -> AutoPatch | None:
    if config is None:
        return None
    return AutoPatch(
        strategy=config.strategy,
        deployment=_rolling(config.deployment),
        next_patch_date=config.next_patch_date,
        idle_wait_window_seconds=config.idle_wait_window_seconds,
        drain_timeout_seconds=config.drain_timeout_seconds,
        on_drain_timeout=config.on_drain_timeout,
    )


def _rolling(config: RollingConfig | None) -> RollingUpdate | None:
    if config is None:
        return None
    return RollingUpdate(
        maximum_batch_size=_batch(config.maximum_batch_size),
        rollback_maximum_batch_size=_batch(config.rollback_maximum_batch_size),
        wait_interval_seconds=config.wait_interval_seconds,
        alarm_names=config.alarm_names,
    )


def _batch(batch: Batch | None) -> BatchSize | None:
    return batch and BatchSize(unit=batch.unit, value=batch.value)
