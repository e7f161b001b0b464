"""What is told of a file system that exists already, so that nodes can mount it."""

import re

from llm_fleet.catalog.hyperpod import group_limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

_ID = re.compile(r"fs-[0-9a-f]{8,17}")
_FIELDS = {
    "dns_name": ("DnsName", "the DNS name", "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com"),
    "mount_name": ("MountName", "the mount name", "abcd1234"),
}


def check_mount_source(
    *, file_system_id: str, dns_name: str | None = None, mount_name: str | None = None
) -> list[Problem]:
    """Check the id of an FSx file system, and DNS name and mount name against HyperPod's limits; `None` passes.

    Paths are the parameters' names.
    """
    problems: list[Problem] = []
    if not is_unresolved(file_system_id) and not _ID.fullmatch(file_system_id):
        remedy = "write the id as `aws fsx describe-file-systems` shows it, e.g. 'fs-0123456789abcdef0'"
        problems.append(_wrong("file_system_id", file_system_id, "the id of the file system", remedy))
    for attribute, value in (("dns_name", dns_name), ("mount_name", mount_name)):
        if value is None or is_unresolved(value):
            continue
        member, what, example = _FIELDS[attribute]
        limit = group_limit(f"InstanceStorageConfigs[].FsxLustreConfig.{member}")
        if not (limit.matches(value) and limit.holds(len(value))):
            remedy = f"write it as `aws fsx describe-file-systems` shows it, e.g. '{example}'"
            problems.append(_wrong(attribute, value, what, remedy))
    return problems


def _wrong(attribute: str, value: str, what: str, remedy: str) -> Problem:
    return Problem(
        code=Code.MOUNT_SOURCE,
        message=f"{what} has not the form that FSx gives it",
        remedy=remedy,
        path=(attribute,),
        value=value,
    )
