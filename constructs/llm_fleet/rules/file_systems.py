"""What every kind of FSx file system has in common: backups, windows, compression, logs, and where clients mount it."""

import re
from collections.abc import Iterable, Iterator, Sequence

from llm_fleet.catalog.hyperpod import group_limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, rule
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.lustre import ExistingLustre
from llm_fleet.spec.open_zfs import ExistingOpenZfs

_DAILY = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_WEEKLY = re.compile(r"[1-7]:([01]\d|2[0-3]):[0-5]\d")
_ID = re.compile(r"fs-[0-9a-f]{8,17}")
_FIELDS = {
    "dns_name": ("DnsName", "the DNS name", "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com"),
    "mount_name": ("MountName", "the mount name", "abcd1234"),
}
LOG_GROUP_PREFIX = "/aws/fsx"
"""The service refuses to log elsewhere."""
MADE_UP = "(made up by CloudFormation)"
"""Stands for the name of a log group that was given none."""


@rule
def check_has_network(network: object | None, kind: str) -> Iterator[Problem]:
    """Return a problem when a file system is to be made without a network, which types forbid, but not every user's."""
    if network is None:
        yield Problem(
            code=Code.MOUNT_WITHOUT_VPC,
            path=("network",),
            message=f"{kind} stands in a VPC, and no network is given",
            remedy="give it a FleetNetwork, or one from FleetNetwork.from_attributes(…)",
        )


def words(values: Iterable[object]) -> str:
    """Return `values` as a reader would list them: `a, b or c`."""
    texts = [str(value) for value in values]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"


def nearest_of(below: int | None, above: int | None, unit: str) -> str:
    """Return the remedy that offers the nearest legal amounts."""
    return f"take {words(f'{amount} {unit}' for amount in (below, above) if amount is not None)}"


@rule
def check_choice(value: str | None, allowed: Sequence[str], *, code: Code, name: str, what: str) -> Iterator[Problem]:
    """Return a problem unless `value` is one of `allowed`, `None` or a token. `what` begins the message."""
    if value is not None and not is_unresolved(value) and value not in allowed:
        yield Problem(
            code=code,
            path=(name,),
            value=value,
            message=f"{what} {str(value)!r}",
            allowed=words(allowed),
            remedy=did_you_mean(value, allowed, otherwise=f"write {words(map(repr, map(str, allowed)))}"),
        )


def check_compression(value: str, allowed: Sequence[str]) -> list[Problem]:
    """Return a problem unless the service knows this compression."""
    return check_choice(
        value, allowed, code=Code.FILE_SYSTEM_COMPRESSION, name="compression", what="there is no compression"
    )


def check_daily_time(value: str | None, *path: str) -> list[Problem]:
    """Return a problem unless `value` is a time of day as FSx reads it."""
    return _check_time(value, path, _DAILY, "HH:MM in UTC, e.g. 05:00", "a time of day")


def check_weekly_time(value: str | None, name: str) -> list[Problem]:
    """Return a problem unless `value` is a time of the week as FSx reads it."""
    return _check_time(value, (name,), _WEEKLY, "d:HH:MM in UTC with 1 for Monday, e.g. 7:03:00", "a time of the week")


@rule
def check_backups(days: int | None, copy_tags: bool | None, *, longest: int, owner: str) -> Iterator[Problem]:
    """Return what is wrong with automatic backups kept for `days`; `longest` 0 stands for none possible."""
    if days is not None and not is_unresolved(days) and not 0 <= days <= longest:
        never = longest == 0
        yield Problem(
            code=Code.FILE_SYSTEM_BACKUP,
            path=("backups", "retention_days"),
            value=days,
            message=f"{owner} file systems have no backups" if never else f"backups cannot be kept for {days} days",
            allowed="0" if never else f"0 (none) to {longest} days",
            remedy="leave it out, or use a persistent deployment type" if never else f"take at most {longest}",
        )
    if longest == 0 and copy_tags is True:
        yield Problem(
            code=Code.FILE_SYSTEM_BACKUP,
            path=("backups", "copy_tags"),
            value=copy_tags,
            message=f"{owner} file systems have no backups to copy tags to",
            remedy="leave it out",
        )


@rule
def check_log_group_name(name: str | None) -> Iterator[Problem]:
    """Return a problem unless FSx may log to a log group of this name."""
    if name is not None and not is_unresolved(name) and not name.startswith(LOG_GROUP_PREFIX):
        yield Problem(
            code=Code.FILE_SYSTEM_LOG,
            path=("log_group",),
            value=name,
            message="FSx refuses to log to a log group of this name",
            allowed=f"a name that begins with {LOG_GROUP_PREFIX}",
            remedy=f"name it {LOG_GROUP_PREFIX}/{'lustre-events' if name == MADE_UP else name.strip('/')}",
        )


@rule
def _check_time(
    value: str | None, path: tuple[str, ...], pattern: re.Pattern[str], allowed: str, what: str
) -> Iterator[Problem]:
    if value is not None and not is_unresolved(value) and not pattern.fullmatch(value):
        yield Problem(
            code=Code.FILE_SYSTEM_TIME,
            path=path,
            value=value,
            message=f"{value!r} is not {what} that FSx can read",
            allowed=allowed,
            remedy=f"write it as {allowed}",
        )


@rule
def check_mount_source(existing: ExistingLustre | ExistingOpenZfs) -> Iterator[Problem]:
    """Check the id of an FSx file system that exists, and DNS name and mount name against HyperPod's limits."""
    file_system_id = existing.file_system_id
    mount_name = existing.mount_name if isinstance(existing, ExistingLustre) else None
    if not is_unresolved(file_system_id) and not _ID.fullmatch(file_system_id):
        remedy = "write the id as `aws fsx describe-file-systems` shows it, e.g. 'fs-0123456789abcdef0'"
        yield _wrong("file_system_id", file_system_id, "the id of the file system", remedy)
    for attribute, value in (("dns_name", existing.dns_name), ("mount_name", mount_name)):
        if value is None or is_unresolved(value):
            continue
        member, what, example = _FIELDS[attribute]
        limit = group_limit(f"InstanceStorageConfigs[].FsxLustreConfig.{member}")
        if not limit.fits(value):
            remedy = f"write it as `aws fsx describe-file-systems` shows it, e.g. '{example}'"
            yield _wrong(attribute, value, what, remedy)


def _wrong(attribute: str, value: str, what: str, remedy: str) -> Problem:
    return Problem(
        code=Code.MOUNT_SOURCE,
        message=f"{what} has not the form that FSx gives it",
        remedy=remedy,
        path=(attribute,),
        value=value,
    )
