"""Resources that must exist when a HyperPod cluster is created: network, role, lifecycle script, file systems."""

import json
from collections.abc import Iterator
from typing import Any, cast

from moto.fsx.models import fsx_backends
from moto.iam.models import iam_backends
from moto.s3.models import s3_backends

from llm_fleet_local.aws.resources.moto_fixes.network_rules import NetworkOf

_PARTITION = "aws"
_SERVICE = "sagemaker.amazonaws.com"
_OWN_SLURM_FILE = "provisioning_parameters.json"


def missing_resources(requested: dict[str, Any], account: str, region: str) -> list[str]:
    """Return the problems with the resources that a cluster names.

    Source: assumption hyperpod-looks-at-surroundings
    """
    network = NetworkOf(account, region)
    errors: list[str] = []
    for vpc in (requested.get("VpcConfig"), *(group.get("OverrideVpcConfig") for group in _groups(requested))):
        if vpc:
            errors += network.problems(vpc["Subnets"], vpc["SecurityGroupIds"])
    for group in _groups(requested):
        name = group["InstanceGroupName"]
        problems = (
            *role_problems(group["ExecutionRole"], account),
            *_script(group, account),
            *_mounts(group, account, region),
        )
        errors += [f"{name}: {problem}" for problem in problems]
    return list(dict.fromkeys(errors))


def _groups(requested: dict[str, Any]) -> list[dict[str, Any]]:
    return [group for kind in ("InstanceGroups", "RestrictedInstanceGroups") for group in requested.get(kind, [])]


def role_problems(arn: str, account: str) -> Iterator[str]:
    """Return why SageMaker cannot assume the role `arn`.

    Source: assumption sagemaker-asks-who-trusts-a-role
    """
    role = next((one for one in iam_backends[account][_PARTITION].roles.values() if one.arn == arn), None)
    if role is None:
        yield f"the execution role {arn} does not exist"
        return
    document: Any = role.assume_role_policy_document
    statements: Any = (json.loads(document) if isinstance(document, str) else document)["Statement"]
    trusted: list[str] = []
    every = cast(list[Any], statements if isinstance(statements, list) else [statements])
    for statement in every:
        services: Any = statement.get("Principal", {}).get("Service", [])
        if statement.get("Effect") == "Allow":
            trusted += services if isinstance(services, list) else [services]
    if _SERVICE not in trusted:
        yield f"the trust policy of the execution role {arn} does not allow {_SERVICE}"


def _script(group: dict[str, Any], account: str) -> Iterator[str]:
    """Return what is missing of a lifecycle script, and whether its folder has a file that excludes SlurmConfig.

    Source: assumption hyperpod-looks-at-surroundings
    """
    config: dict[str, Any] = group.get("LifeCycleConfig", {})
    uri: str = config.get("SourceS3Uri", "")
    if not uri.startswith("s3://"):
        return
    bucket_name, folder, bucket = _folder(uri, account)
    if bucket is None:
        yield f"the bucket of SourceS3Uri {uri} does not exist"
        return
    for hook in ("OnCreate", "OnInitComplete"):
        key = f"{folder}{config.get(hook)}"
        if hook in config and key not in bucket.keys:
            yield f"the lifecycle script s3://{bucket_name}/{key} does not exist"
    if "SlurmConfig" in group and f"{folder}{_OWN_SLURM_FILE}" in bucket.keys:
        yield f"SlurmConfig and s3://{bucket_name}/{folder}{_OWN_SLURM_FILE} exclude each other"


def is_controller(group: dict[str, Any], account: str) -> bool:
    """Return whether Slurm's controller is in a group: from its node type, or from the file next to its script.

    Source: document
    https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-slurm-api-config-migration.html (2026-11),
    "Field mapping reference": controller_group
    """
    if "SlurmConfig" in group:
        return group["SlurmConfig"]["NodeType"] == "Controller"
    _, folder, bucket = _folder(group.get("LifeCycleConfig", {}).get("SourceS3Uri", ""), account)
    file = bucket.keys.get(f"{folder}{_OWN_SLURM_FILE}") if bucket else None
    return file is not None and json.loads(file.value).get("controller_group") == group["InstanceGroupName"]


def _folder(uri: str, account: str) -> tuple[str, str, Any]:
    """Return the bucket's name and the key prefix in an S3 URI, and the bucket; `None` if it does not exist."""
    name, _, prefix = uri.removeprefix("s3://").partition("/")
    folder = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
    return name, folder, s3_backends[account][_PARTITION].buckets.get(name)


def _mounts(group: dict[str, Any], account: str, region: str) -> Iterator[str]:
    """Return which file systems of a group do not exist or have a different mount name.

    Source: assumption hyperpod-looks-at-surroundings
    """
    systems: dict[str, Any] = {one.dns_name: one for one in fsx_backends[account][region].file_systems.values()}
    for config in group.get("InstanceStorageConfigs", ()):
        for mount in (config.get("FsxLustreConfig"), config.get("FsxOpenZfsConfig")):
            if mount is None:
                continue
            found = systems.get(mount["DnsName"])
            if found is None:
                yield f"the file system {mount['DnsName']} does not exist"
                continue
            name = found.record.get("LustreConfiguration", {}).get("MountName")
            if "MountName" in mount and mount["MountName"] != name:
                yield f"the file system {mount['DnsName']} must be mounted as {name}, not as {mount['MountName']}"
