"""Which keys of ParallelCluster have an attribute of ours, place by place: those no override may say again."""

from collections.abc import Mapping
from enum import StrEnum


class Place(StrEnum):
    """Where overrides are laid in, as ParallelCluster's schema calls it."""

    CLUSTER = ""
    HEAD_NODE = "HeadNode"
    SLURM = "Scheduling/SlurmSettings"
    QUEUE = "Scheduling/SlurmQueues[]"
    COMPUTE_RESOURCE = "Scheduling/SlurmQueues[]/ComputeResources[]"
    LOGIN_POOL = "LoginNodes/Pools[]"


_IMAGE = {"Image/CustomAmi": "image_id"}
_SSH = {"Ssh/AllowedIps": "allowed_ips"}
_GROUPS = {"Networking/AdditionalSecurityGroups": "security_groups"}
_HEALTH = {"HealthChecks/Gpu/Enabled": "gpu_health_check"}
_PLACEMENT = {
    "Networking/PlacementGroup/Enabled": "placement_group",
    "Networking/PlacementGroup/Name": "placement_group",
    "Networking/PlacementGroup/Id": "placement_group",
}


def _root_volume(section: str) -> dict[str, str]:
    keys = ("Size", "VolumeType", "Iops", "Throughput", "Encrypted")
    return {f"{section}/RootVolume/{key}": "root_volume" for key in keys} | {
        f"{section}/EphemeralVolume/MountDir": "scratch_mount_dir"
    }


TYPED_KEYS: Mapping[Place, Mapping[str, str]] = {
    Place.CLUSTER: {
        "Region": "region",
        "Image/Os": "os",
        **_IMAGE,
        "HeadNode": "head_node and its overrides",
        "Scheduling/Scheduler": "scheduler",
        "Scheduling/ScalingStrategy": "slurm.scaling_strategy",
        "Scheduling/SlurmSettings": "slurm and its overrides",
        "Scheduling/SlurmQueues": "queues and their overrides",
        "LoginNodes": "login_pools and their overrides",
        "SharedStorage": "shared_storage",
        "Monitoring/DetailedMonitoring": "detailed_monitoring",
        "Monitoring/Logs/CloudWatch/RetentionInDays": "log_retention_days",
        "Tags": "tags",
    },
    Place.HEAD_NODE: {
        "InstanceType": "instance_type",
        "DisableSimultaneousMultithreading": "hyperthreading",
        "Networking/SubnetId": "subnet",
        "Networking/ElasticIp": "elastic_ip",
        **_GROUPS,
        "Ssh/KeyName": "key_name",
        **_SSH,
        **_root_volume("LocalStorage"),
        "SharedStorageType": "internal_storage",
        "Dcv": "dcv",
        "Imds/Secured": "imds_secured",
        **_IMAGE,
    },
    Place.SLURM: {
        "ScaledownIdletime": "scaledown_idletime_minutes",
        "QueueUpdateStrategy": "queue_update_strategy",
        "EnableMemoryBasedScheduling": "memory_based_scheduling",
        "CustomSlurmSettings": "custom_settings",
        "CustomSlurmSettingsIncludeFile": "custom_settings_file",
        "Database": "accounting of the cluster",
        "ExternalSlurmdbd": "accounting of the cluster",
        "MungeKeySecretArn": "accounting of the cluster",
    },
    Place.QUEUE: {
        "Name": "name",
        "CapacityType": "capacity_type",
        "AllocationStrategy": "allocation_strategy",
        "JobExclusiveAllocation": "exclusive",
        "ComputeResources": "compute_resources and their overrides",
        **_root_volume("ComputeSettings/LocalStorage"),
        "Networking/SubnetIds": "subnets",
        **_GROUPS,
        "Networking/AssignPublicIp": "assign_public_ip",
        **_PLACEMENT,
        "CapacityReservationTarget": "capacity_reservation",
        **_HEALTH,
        **_IMAGE,
        "CustomSlurmSettings": "custom_slurm_settings",
        "Tags": "tags",
    },
    Place.COMPUTE_RESOURCE: {
        "Name": "name",
        "InstanceType": "instance_types",
        "Instances": "instance_types",
        "MinCount": "min_count",
        "MaxCount": "max_count",
        "SpotPrice": "spot_price",
        "Efa/Enabled": "efa",
        "DisableSimultaneousMultithreading": "hyperthreading",
        "SchedulableMemory": "schedulable_memory_mib",
        "CapacityReservationTarget": "capacity_reservation",
        **_PLACEMENT,
        **_HEALTH,
        "CustomSlurmSettings": "custom_slurm_settings",
        "Tags": "tags",
        "StaticNodePriority": "static_node_priority",
        "DynamicNodePriority": "dynamic_node_priority",
    },
    Place.LOGIN_POOL: {
        "Name": "name",
        "InstanceType": "instance_type",
        "Count": "count",
        "GracetimePeriod": "gracetime_minutes",
        "Networking/SubnetIds": "subnet",
        **_GROUPS,
        **_SSH,
        "Dcv": "dcv",
        **_IMAGE,
    },
}
"""By place: the key and what is below it, and the attribute to use instead."""
