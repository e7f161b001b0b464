"""Overrides: keys in ParallelCluster's own spelling, and the sections that only they can have."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, cast

from llm_fleet.catalog.parallelcluster import parallelcluster_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.cluster_names import check_prefix_form
from llm_fleet.rules.parallelcluster.configuration import check_section
from llm_fleet.rules.parallelcluster.schema_sections import overridden, section
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.terms import InternalStorage
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from llm_fleet.spec.parallelcluster_nodes import HeadNode


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


_SCRIPTS = "CustomActions"


def check_overrides(overrides: Mapping[str, Any], place: Place) -> list[Problem]:
    """Check `overrides` that are laid in at `place`: every key legal there, none that has an attribute, no script.

    Paths begin with `overrides`.
    """
    if not isinstance(overrides, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - not every user has types
        return [_no_map(overrides)]
    if not overrides:
        return []
    refused = list(_refused(overrides, place))
    schema = check_section(overrides, place, partial=True, partial_below=_rendered_sections(place))
    told = [problem.path for problem in refused]
    others = [one for one in schema if not any(one.path[: len(path)] == path for path in told)]
    return [problem.under("overrides") for problem in (*refused, *others)]


def _refused(overrides: Mapping[str, Any], place: Place, above: tuple[str, ...] = ()) -> Iterator[Problem]:
    """Scripts and keys that have an attribute, wherever they are in `overrides`."""
    typed = TYPED_KEYS[place]
    for key, value in overrides.items():
        path = (*above, str(key))
        attribute = typed.get("/".join(path))
        if attribute is not None:
            yield _has_attribute(path, value, attribute)
        elif path == (_SCRIPTS,):
            yield _script(path)
        elif isinstance(value, Mapping):
            yield from _refused(cast("Mapping[str, Any]", value), place, path)


@cache
def _rendered_sections(place: Place) -> frozenset[str]:
    """The sections at `place` that have typed keys: what they require is rendered from attributes."""
    root = f"{place}/" if place else ""
    return frozenset(f"{root}{section}" for key in TYPED_KEYS[place] for section in _sections_of(key))


def _sections_of(key: str) -> Iterable[str]:
    parts = key.split("/")
    return ("/".join(parts[:length]) for length in range(1, len(parts)))


def _no_map(value: object) -> Problem:
    return Problem(
        code=Code.PC_KEY_TYPE,
        message="the overrides are no map of ParallelCluster's keys",
        remedy="write a map, or leave them out",
        path=("overrides",),
        value="nothing" if value is None else value,
        allowed="a map",
    )


def _has_attribute(path: tuple[str, ...], value: Any, attribute: str) -> Problem:
    return Problem(
        code=Code.PC_OVERRIDE_TYPED,
        message=f"{'/'.join(path)} has an attribute of its own, whose checks an override would pass by",
        remedy=f"use {attribute}",
        path=path,
        value=value,
    )


def _script(path: tuple[str, ...]) -> Problem:
    return Problem(
        code=Code.PC_OVERRIDE_SCRIPT,
        message="a script of one's own would take the place of the one that makes the nodes",
        remedy="make it an OwnStep: it runs among the others, with retries, a time limit and a report",
        path=path,
    )


_DOMAIN = re.compile(r"[a-zA-Z0-9_-]+(\.[a-zA-Z0-9_-]+)*|(DC|dc)=[a-zA-Z0-9_-]+(,(DC|dc)=[a-zA-Z0-9_-]+)*")
_SECRET = re.compile(r"arn:[^:]+:secretsmanager:[^:]*:[^:]*:secret:.+")
_READINESS = ("cluster_readiness_check_enabled", "cluster_readiness_check_ignore_failure")


def check_efs_settings(head: HeadNode) -> list[Problem]:
    """Check that settings of an internal EFS come with one (SharedStorageEfsSettingsValidator)."""
    told = section(head.overrides, "SharedStorageEfsSettings")
    if not told or head.internal_storage == InternalStorage.EFS:
        return []
    return [
        Problem(
            code=Code.PC_SETTING,
            message="ParallelCluster's own folders lie on EBS, and these are settings of an EFS",
            remedy="write Efs as the head node's internal_storage, or leave them out",
            path=("overrides", "SharedStorageEfsSettings"),
            value=dict(told),
        )
    ]


def check_directory(cluster: PlacedParallelCluster) -> list[Problem]:
    """Check a directory service: its name, its secret, and what SSSD may be told.

    (DomainNameValidator, PasswordSecretArnValidator without its look-up, AdditionalSssdConfigsValidator.)
    """
    told = section(cluster.overrides, "DirectoryService")
    problems: list[Problem] = []
    name, arn = told.get("DomainName"), told.get("PasswordSecretArn")
    if isinstance(name, str) and not is_unresolved(name) and not _DOMAIN.fullmatch(name):
        problems.append(
            _directory(
                "DomainName", name, "this is no name of a domain", "write corp.example.com or DC=corp,DC=example,DC=com"
            )
        )
    if isinstance(arn, str) and not is_unresolved(arn) and not _SECRET.fullmatch(arn):
        problems.append(
            _directory(
                "PasswordSecretArn",
                arn,
                "the password is read from Secrets Manager, and this is no ARN of a secret",
                "put the password into a secret and write its ARN",
            )
        )
    return [*problems, *_check_sssd(told)]


def check_iam(cluster: PlacedParallelCluster) -> list[Problem]:
    """Check the prefix of roles and policies (IamResourcePrefixValidator)."""
    prefix = overridden(cluster.overrides, "Iam", "ResourcePrefix")
    return check_prefix_form(prefix, "overrides", "Iam", "ResourcePrefix") if isinstance(prefix, str) else []


def check_packages(cluster: PlacedParallelCluster) -> list[Problem]:
    """Check that nobody asks for Intel's platform, which is for CentOS 7 alone (IntelHpcOsValidator)."""
    keys = ("AdditionalPackages", "IntelSoftware", "IntelHpcPlatform")
    if overridden(cluster.overrides, *keys) is not True:
        return []
    return [
        Problem(
            code=Code.PC_SETTING,
            message="ParallelCluster installs Intel's HPC platform on CentOS 7 only, which it no longer has",
            remedy="leave it out; Intel MPI is in the images, and the rest comes from Intel's own repositories",
            path=("overrides", *keys),
            value=True,
        )
    ]


def check_chef_attributes(cluster: PlacedParallelCluster) -> list[Problem]:
    """Check attributes handed to Chef, a text of JSON (ExtraChefAttributesValidator)."""
    path = ("overrides", "DevSettings", "Cookbook", "ExtraChefAttributes")
    text = overridden(cluster.overrides, *path[1:])
    if not isinstance(text, str) or is_unresolved(text):
        return []
    try:
        attributes = json.loads(text)
    except ValueError:
        return [_setting(path, text, "this is no JSON", "write an object of JSON")]
    told = section({"attributes": attributes}, "attributes", "cluster")
    problems = [
        _setting(path, told[name], f"cluster.{name} is neither true nor false", "write true or false")
        for name in _READINESS
        if name in told and told[name] is not None and str(told[name]).lower() not in ("true", "false")
    ]
    least, seconds = (
        parallelcluster_limits().slurm_reconfigure_timeout,
        overridden(told, "slurm", "reconfigure_timeout"),
    )
    if seconds is not None and (type(seconds) is not int or seconds <= least):
        problems.append(
            _setting(
                path, seconds, f"cluster.slurm.reconfigure_timeout is no number of seconds above {least}", "raise it"
            )
        )
    return problems


def _check_sssd(told: Mapping[str, Any]) -> list[Problem]:
    sssd = section(told, "AdditionalSssdConfigs")
    wanted = ["id_provider"]
    if told.get("LdapAccessFilter") is not None:
        wanted.append("access_provider")
    return [
        _directory(
            "AdditionalSssdConfigs",
            sssd[key],
            f"ParallelCluster's directory is LDAP, and {key} says another",
            f"leave {key} out",
        )
        for key in wanted
        if key in sssd and sssd[key] != "ldap" and not is_unresolved(sssd[key])
    ]


def _directory(key: str, value: object, message: str, remedy: str) -> Problem:
    path = ("overrides", "DirectoryService", key)
    return Problem(code=Code.PC_DIRECTORY, message=message, remedy=remedy, path=path, value=value)


def _setting(path: tuple[PathPart, ...], value: object, message: str, remedy: str) -> Problem:
    return Problem(code=Code.PC_SETTING, message=message, remedy=remedy, path=path, value=value)
