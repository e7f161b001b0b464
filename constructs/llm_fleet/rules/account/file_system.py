"""Whether existing file systems are what a fleet file says of them."""

from collections.abc import Iterator
from dataclasses import dataclass

from llm_fleet.rules.day_two.check_codes import CheckCode
from llm_fleet.rules.problem import PathPart, Problem

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
