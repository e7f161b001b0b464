"""An instance group as a property of `AWS::SageMaker::Cluster`.

Plain dicts in the L1's own spelling (camel case), not its property classes: a hundred groups are then one call
across jsii, and the L1 still checks every key and type.
"""

from collections.abc import Iterator
from typing import Any

from llm_fleet.hyperpod.render_update import render_auto_patch, render_scheduled_update
from llm_fleet.spec.hyperpod_cluster import Mount, PlacedCluster
from llm_fleet.spec.instance_group import InstanceGroup
from llm_fleet.spec.references import KEY


def render_group(group: InstanceGroup, cluster: PlacedCluster, *, role_arn: str) -> dict[str, Any]:
    """Return `group`, whose defaults are filled in, as one of the L1's `instanceGroups`."""
    optional: dict[str, Any] = {
        "instanceType": str(group.instance_type) if group.instance_type else None,
        "instanceRequirements": {"instanceTypes": [str(name) for name in group.instance_types]}
        if group.instance_types
        else None,
        "minInstanceCount": group.min_count,
        "threadsPerCore": group.threads_per_core,
        "trainingPlanArn": group.training_plan_arn,
        "imageId": group.image_id,
        "onStartDeepHealthChecks": [check.value for check in group.deep_health_checks] or None,
        "capacityRequirements": {"spot": {}} if group.spot else None,
        "networkInterface": {"interfaceType": group.network_interface.value} if group.network_interface else None,
        "slurmConfig": _slurm(group) if cluster.api_driven else None,
        "lifeCycleConfig": _lifecycle(group, cluster),
        "instanceStorageConfigs": list(_storage(group, cluster)) or None,
        "overrideVpcConfig": _override(group),
        "scheduledUpdateConfig": render_scheduled_update(group.scheduled_update) if group.scheduled_update else None,
        "autoPatchConfig": render_auto_patch(group.auto_patch) if group.auto_patch else None,
    }
    return {
        "instanceGroupName": group.name,
        "instanceCount": group.count,
        "executionRole": group.execution_role_arn or role_arn,
        **{key: value for key, value in optional.items() if value is not None},
    }


def _slurm(group: InstanceGroup) -> dict[str, Any]:
    rendered: dict[str, Any] = {"nodeType": group.node_type.value}
    if group.partition is not None:
        rendered["partitionNames"] = [group.partition]
    return rendered


def _lifecycle(group: InstanceGroup, cluster: PlacedCluster) -> dict[str, Any] | None:
    if group.on_create is not None:
        return {"sourceS3Uri": cluster.lifecycle_source_s3_uri, "onCreate": group.on_create}
    if group.on_init_complete is not None:
        return {"sourceS3Uri": cluster.lifecycle_source_s3_uri, "onInitComplete": group.on_init_complete}
    return None


def _storage(group: InstanceGroup, cluster: PlacedCluster) -> Iterator[dict[str, Any]]:
    """Volumes first, then mounts. With the legacy configuration HyperPod takes none: its file names them."""
    if group.root_volume_key is not None:
        yield {"ebsVolumeConfig": {"rootVolume": True, "volumeKmsKeyId": KEY.name_of(group.root_volume_key)}}
    if group.ebs_volume_gib is not None:
        volume: dict[str, Any] = {"volumeSizeInGb": group.ebs_volume_gib}
        if group.ebs_volume_key is not None:
            volume["volumeKmsKeyId"] = KEY.name_of(group.ebs_volume_key)
        yield {"ebsVolumeConfig": volume}
    if cluster.api_driven:
        yield from (_mount(mount) for mount in cluster.mounts if group.mounts(mount.kind))


def _mount(mount: Mount) -> dict[str, Any]:
    config = {"dnsName": mount.dns_name, "mountPath": mount.mount_path}
    if mount.kind == "open_zfs":
        return {"fsxOpenZfsConfig": config}
    return {"fsxLustreConfig": {**config, "mountName": mount.mount_name}}


def _override(group: InstanceGroup) -> dict[str, Any] | None:
    if not group.subnets:
        return None
    return {
        "subnets": list(group.subnet_ids),
        "securityGroupIds": list(group.security_group_ids),
    }
