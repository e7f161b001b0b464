"""Overrides: keys of the ParallelCluster configuration, and the sections that only overrides can set."""

import json
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from pathlib import PurePosixPath
from typing import Any, cast

from llm_fleet.catalog.parallelcluster import parallelcluster_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.cluster_names import check_prefix_form
from llm_fleet.rules.parallelcluster.configuration import check_section
from llm_fleet.rules.parallelcluster.schema_sections import overridden, section
from llm_fleet.rules.problem import Problem, is_unresolved, rule
from llm_fleet.rules.terms import InternalStorage
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from llm_fleet.spec.parallelcluster_nodes import HeadNode


class Place(StrEnum):
    """The section that overrides are merged into, by its name in ParallelCluster's schema."""

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
"""By section: the key with all below it, and the attribute to use instead."""


_SCRIPTS = "CustomActions"


@rule
def check_overrides(overrides: Mapping[str, Any], place: Place) -> Iterator[Problem]:
    """Check `overrides` that are merged at `place`: only valid keys, none that has an attribute, no script.

    Paths begin with `overrides`.
    """
    if not isinstance(overrides, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - not every user checks types
        yield Problem(
            code=Code.PC_KEY_TYPE,
            message="`overrides` must be a map of ParallelCluster's keys",
            remedy="write a map, or remove them",
            path=("overrides",),
            value="nothing" if overrides is None else overrides,
            allowed="a map",
        )
    elif overrides:
        refused = list(_refused(overrides, place))
        schema = check_section(overrides, place, partial=True, partial_below=_rendered_sections(place))
        reported = [problem.path for problem in refused]
        others = [one for one in schema if not any(one.path[: len(path)] == path for path in reported)]
        yield from (problem.under("overrides") for problem in (*refused, *others))


def _refused(overrides: Mapping[str, Any], place: Place, above: tuple[str, ...] = ()) -> Iterator[Problem]:
    """Yield scripts and keys that have an attribute, at any depth of `overrides`."""
    typed = TYPED_KEYS[place]
    for key, value in overrides.items():
        path = (*above, str(key))
        attribute = typed.get("/".join(path))
        if attribute is not None:
            yield Problem(
                code=Code.PC_OVERRIDE_TYPED,
                message=f"{'/'.join(path)} has its own attribute, whose checks an override would skip",
                remedy=f"use {attribute}",
                path=path,
                value=value,
            )
        elif path == (_SCRIPTS,):
            yield Problem(
                code=Code.PC_OVERRIDE_SCRIPT,
                message="an own script would replace the script that configures the nodes",
                remedy="write an own step (OwnStep) instead: it runs with the other steps, with retries, a time "
                "limit and a report",
                path=path,
            )
        elif isinstance(value, Mapping):
            yield from _refused(cast("Mapping[str, Any]", value), place, path)


@cache
def _rendered_sections(place: Place) -> frozenset[str]:
    """The sections at `place` with typed keys, whose required keys are rendered from attributes."""
    root = f"{place}/" if place else ""
    sections = (str(above) for key in TYPED_KEYS[place] for above in PurePosixPath(key).parents)
    return frozenset(f"{root}{section}" for section in sections if section != ".")


_DOMAIN = re.compile(r"[a-zA-Z0-9_-]+(\.[a-zA-Z0-9_-]+)*|(DC|dc)=[a-zA-Z0-9_-]+(,(DC|dc)=[a-zA-Z0-9_-]+)*")
_SECRET = re.compile(r"arn:[^:]+:secretsmanager:[^:]*:[^:]*:secret:.+")

_READINESS = ("cluster_readiness_check_enabled", "cluster_readiness_check_ignore_failure")

_CHEF_ATTRIBUTES = ("DevSettings", "Cookbook", "ExtraChefAttributes")


@rule
def check_efs_settings(head: HeadNode) -> Iterator[Problem]:
    """Check that settings of an internal EFS are given with an EFS (SharedStorageEfsSettingsValidator)."""
    reported = section(head.overrides, "SharedStorageEfsSettings")
    if reported and head.internal_storage != InternalStorage.EFS:
        yield head.wrong(
            ("overrides", "SharedStorageEfsSettings"),
            Code.PC_SETTING,
            "these are settings of EFS, but the internal storage of ParallelCluster is EBS",
            "write `internal_storage: Efs` for the head node, or remove them",
            value=dict(reported),
        )


@rule
def check_directory(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check a directory service: domain, secret, and additional SSSD settings.

    (DomainNameValidator, PasswordSecretArnValidator without its look-up, AdditionalSssdConfigsValidator.)
    """
    reported = section(cluster.overrides, "DirectoryService")
    name, arn = reported.get("DomainName"), reported.get("PasswordSecretArn")
    if isinstance(name, str) and not is_unresolved(name) and not _DOMAIN.fullmatch(name):
        yield _directory(
            "DomainName", name, "this is not a domain name", "write corp.example.com or DC=corp,DC=example,DC=com"
        )
    if isinstance(arn, str) and not is_unresolved(arn) and not _SECRET.fullmatch(arn):
        yield _directory(
            "PasswordSecretArn",
            arn,
            "this is not the ARN of a secret, from which the password is read",
            "store the password in a secret and write its ARN",
        )
    sssd = section(reported, "AdditionalSssdConfigs")
    for key in ("id_provider", *(["access_provider"] if reported.get("LdapAccessFilter") is not None else ())):
        if key in sssd and sssd[key] != "ldap" and not is_unresolved(sssd[key]):
            yield _directory(
                "AdditionalSssdConfigs",
                sssd[key],
                f"ParallelCluster's directory is LDAP, but {key} has another value",
                f"remove {key}",
            )


def check_iam(cluster: PlacedParallelCluster) -> list[Problem]:
    """Check the prefix of roles and policies (IamResourcePrefixValidator)."""
    prefix = overridden(cluster.overrides, "Iam", "ResourcePrefix")
    return check_prefix_form(prefix, "overrides", "Iam", "ResourcePrefix") if isinstance(prefix, str) else []


@rule
def check_packages(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check that Intel's HPC platform, which requires CentOS 7, is off (IntelHpcOsValidator)."""
    keys = ("AdditionalPackages", "IntelSoftware", "IntelHpcPlatform")
    if overridden(cluster.overrides, *keys) is True:
        yield cluster.wrong(
            ("overrides", *keys),
            Code.PC_SETTING,
            "ParallelCluster installs Intel's HPC platform only on CentOS 7, which it no longer supports",
            "remove it; Intel MPI is in the images, and the rest is in Intel's repositories",
            value=True,
        )


@rule
def check_chef_attributes(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check the extra Chef attributes, a JSON text (ExtraChefAttributesValidator)."""
    text = overridden(cluster.overrides, *_CHEF_ATTRIBUTES)
    if not isinstance(text, str) or is_unresolved(text):
        return
    try:
        attributes = json.loads(text)
    except ValueError:
        yield _chef(text, "this is not valid JSON", "write a JSON object")
        return
    reported = section({"attributes": attributes}, "attributes", "cluster")
    for name in _READINESS:
        if reported.get(name) is not None and str(reported[name]).lower() not in ("true", "false"):
            yield _chef(reported[name], f"cluster.{name} is neither true nor false", "write true or false")
    least, seconds = (
        parallelcluster_limits().slurm_reconfigure_timeout,
        overridden(reported, "slurm", "reconfigure_timeout"),
    )
    if seconds is not None and (type(seconds) is not int or seconds <= least):
        yield _chef(
            seconds,
            f"cluster.slurm.reconfigure_timeout must be a number of seconds above {least}",
            "write a larger number",
        )


def _chef(value: object, message: str, remedy: str) -> Problem:
    path = ("overrides", *_CHEF_ATTRIBUTES)
    return Problem(code=Code.PC_SETTING, message=message, remedy=remedy, path=path, value=value)


def _directory(key: str, value: object, message: str, remedy: str) -> Problem:
    path = ("overrides", "DirectoryService", key)
    return Problem(code=Code.PC_DIRECTORY, message=message, remedy=remedy, path=path, value=value)
