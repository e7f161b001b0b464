"""What FSx refuses of a volume beneath the root volume of an OpenZFS file system, or would not do as it is meant."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from llm_fleet.catalog.openzfs import open_zfs_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved


def check_volume(
    *,
    name: str,
    quota_gib: int | None,
    capacity_gib: int,
    taken: Mapping[str, str] = MappingProxyType({}),
) -> list[Problem]:
    """Return what is wrong with a volume, by the attributes `name` and `quota_gib`.

    `capacity_gib`: of its file system. `taken`: names that it cannot have, each with why.
    """
    return [*_check_name(name), *_check_taken(name, taken), *_check_quota(quota_gib, capacity_gib)]


def _check_name(name: str) -> list[Problem]:
    """The name ends the path that clients mount, so that it holds what such a path may (`VolumePath` of the API)."""
    limits = open_zfs_limits()
    longest = limits.volume_name_length
    if is_unresolved(name) or (re.fullmatch(limits.volume_name, name, re.ASCII) and len(name) <= longest):
        return []
    mended = re.sub(r"[^A-Za-z0-9_.:-]+", "-", name).lstrip(".:-")[:longest]
    return [
        Problem(
            code=Code.OPEN_ZFS_VOLUME_NAME,
            path=("name",),
            value=name,
            message="this is no name of an OpenZFS volume",
            allowed=f"1 to {longest} letters, digits and _ . : -, of which the first is a letter, a digit or _",
            remedy=f"write {mended!r}" if mended else "write a name such as 'apps'",
        )
    ]


def _check_taken(name: str, taken: Mapping[str, str]) -> list[Problem]:
    if is_unresolved(name) or name not in taken:
        return []
    return [
        Problem(
            code=Code.OPEN_ZFS_VOLUME_NAME,
            path=("name",),
            value=name,
            message=taken[name],
            remedy="give the volume another name",
        )
    ]


def _check_quota(quota: int | None, capacity: int) -> list[Problem]:
    """Stricter than FSx, which takes a quota that is larger than the file system, and thus limits nothing."""
    if quota is None or is_unresolved([quota, capacity]) or 1 <= quota <= capacity:
        return []
    small = quota < 1
    return [
        Problem(
            code=Code.OPEN_ZFS_QUOTA,
            path=("quota_gib",),
            value=quota,
            message="nothing could be written to this volume"
            if small
            else f"a volume never grows to {quota} GiB in a file system of {capacity} GiB",
            allowed=f"1 to {capacity} GiB",
            remedy="leave it out for no limit but the file system's own"
            if small
            else f"take {capacity} GiB or less, or a larger file system",
        )
    ]
