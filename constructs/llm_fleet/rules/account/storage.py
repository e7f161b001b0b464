"""Buckets and file systems that a fleet names."""

from collections.abc import Iterator
from dataclasses import dataclass

from llm_fleet.rules.command_codes import CheckCode
from llm_fleet.rules.problem import PathPart, Problem


def check_bucket(
    name: str,
    *,
    exists: bool,
    bucket_region: str | None,
    region: str,
    used_for: str,
    same_region: bool,
    path: tuple[PathPart, ...] = (),
) -> list[Problem]:
    """Return what is wrong with a bucket that is there already, or should be.

    `same_region`: whether what it is used for works within one region only, e.g. a data repository of FSx.
    """
    if not exists:
        return [_missing(name, region, used_for, path)]
    if same_region and bucket_region not in (None, region):
        return [_elsewhere(name, str(bucket_region), region, used_for, path)]
    return []


def check_new_bucket(name: str, *, exists: bool, path: tuple[PathPart, ...] = ()) -> list[Problem]:
    """Return a problem when a bucket that is to be made has a name that is taken, by whomever: names are global."""
    if not exists:
        return []
    return [
        Problem(
            code=CheckCode.BUCKET_TAKEN,
            path=path,
            message=f"a bucket {name} exists already, in this account or another, and no second one can be made",
            value=name,
            remedy="write another `name`, or none: CloudFormation makes one up that cannot clash. A bucket that is "
            "yours is named where it is used, as s3://…",
        )
    ]


def _missing(name: str, region: str, used_for: str, path: tuple[PathPart, ...]) -> Problem:
    return Problem(
        code=CheckCode.BUCKET_MISSING,
        path=path,
        message=f"there is no bucket {name}, which {used_for}",
        value=name,
        remedy=f"see that the name is right, or make it with `aws s3api create-bucket --bucket {name} --region {region}"
        + (f" --create-bucket-configuration LocationConstraint={region}`" if region != "us-east-1" else "`"),
    )


def _elsewhere(name: str, real: str, region: str, used_for: str, path: tuple[PathPart, ...]) -> Problem:
    return Problem(
        code=CheckCode.BUCKET_REGION,
        path=path,
        message=f"the bucket {name} is in {real}, and what {used_for} must be in {region}",
        value=real,
        allowed=region,
        remedy=f"name a bucket in {region}, or copy with `aws s3 sync s3://{name} s3://<bucket in {region}>`",
    )


_USABLE = ("AVAILABLE", "UPDATING")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingFileSystem:
    """What FSx says of one file system."""

    file_system_id: str
    kind: str
    """E.g. `LUSTRE`."""
    lifecycle: str
    vpc_id: str
    zones: tuple[str, ...]
    """AZ ids of its subnets."""
    dns_name: str
    mount_name: str | None = None
    efa: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldFileSystem:
    """What the fleet file says of it; `None` where it says nothing."""

    kind: str
    path: tuple[PathPart, ...]
    vpc_id: str | None = None
    zone: str | None = None
    mount_name: str | None = None
    dns_name: str | None = None
    efa: bool | None = None


def check_file_system(real: ExistingFileSystem, told: ToldFileSystem) -> list[Problem]:
    """Return where the two differ, and whether it can be mounted now."""
    if real.lifecycle not in _USABLE:
        return [_state(real, told)]
    return [*_place(real, told), *_differences(real, told)]


def _state(real: ExistingFileSystem, told: ToldFileSystem) -> Problem:
    return Problem(
        code=CheckCode.FILE_SYSTEM_STATE,
        path=told.path,
        message=f"the file system {real.file_system_id} is {real.lifecycle}, and cannot be mounted",
        value=real.lifecycle,
        allowed=" or ".join(_USABLE),
        remedy=f"see why with `aws fsx describe-file-systems --file-system-ids {real.file_system_id}`, and wait, or "
        "name another",
    )


def _place(real: ExistingFileSystem, told: ToldFileSystem) -> Iterator[Problem]:
    if told.zone is not None and told.zone not in real.zones:
        zones = ", ".join(real.zones)
        yield Problem(
            code=CheckCode.FILE_SYSTEM_ZONE,
            path=(*told.path, "az"),
            message=f"the file system {real.file_system_id} stands in {zones}, and the fleet file says {told.zone}",
            value=told.zone,
            allowed=zones,
            remedy=f"write `az: {real.zones[0]}`, and put the nodes there too: each byte across AZs is paid, and slow"
            if real.zones
            else "leave `az` out",
        )
    if told.vpc_id is not None and real.vpc_id != told.vpc_id:
        yield Problem(
            code=CheckCode.FILE_SYSTEM_ZONE,
            path=told.path,
            message=f"the file system {real.file_system_id} is in {real.vpc_id}, and the nodes in {told.vpc_id}",
            value=real.vpc_id,
            allowed=told.vpc_id,
            remedy="put the nodes into its VPC, or peer the two and see that their routes reach each other",
        )


def _differences(real: ExistingFileSystem, told: ToldFileSystem) -> Iterator[Problem]:
    pairs = {
        "kind": (real.kind, told.kind),
        "mount_name": (real.mount_name, told.mount_name),
        "dns_name": (real.dns_name, told.dns_name),
        "efa": (real.efa, told.efa),
    }
    for key, (is_so, says) in pairs.items():
        if says is None or is_so is None or is_so == says:
            continue
        shown = str(is_so).lower() if isinstance(is_so, bool) else is_so
        yield Problem(
            code=CheckCode.FILE_SYSTEM_OTHER,
            path=told.path if key == "kind" else (*told.path, key),
            message=f"the file system {real.file_system_id} has the {key} {shown}, and the fleet file says "
            f"{str(says).lower() if isinstance(says, bool) else says}",
            value=says,
            allowed=str(shown),
            remedy=f"name a file system that is {told.kind}" if key == "kind" else f"write `{key}: {shown}`",
        )
