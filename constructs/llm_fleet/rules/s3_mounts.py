"""Buckets that nodes see as folders: places that nothing else takes, on groups that there are."""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from llm_fleet.rules.bare_text import check_not_bare
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.group_storage import check_mount_path
from llm_fleet.rules.key_prefix import check_key_prefix
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.node_protocols import S3MountLike
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved


def check_s3_mounts(
    mounts: Sequence[S3MountLike], *, taken_paths: Sequence[str], group_names: Sequence[str]
) -> list[Problem]:
    """Return what is wrong with `mounts`, each under its index.

    `taken_paths`: where file systems are mounted. `group_names`: all instance groups of the cluster.
    """
    problems: list[Problem] = []
    for index, mount in enumerate(mounts):
        earlier = [*taken_paths, *(other.mount_path for other in mounts[:index])]
        found = [
            *_path(mount.mount_path, earlier),
            *check_key_prefix(mount.prefix, Code.S3_MOUNT),
            *_groups(mount.groups, group_names),
        ]
        problems += [problem.under(index) for problem in found]
    return problems


def _path(path: str, earlier: Sequence[str]) -> Iterator[Problem]:
    found = check_mount_path(path)
    yield from found
    if found or is_unresolved(path):
        return
    other = next((other for other in earlier if not is_unresolved(other) and _overlap(path, other)), None)
    if other is not None:
        yield Problem(
            code=Code.S3_MOUNT_PATH,
            message=f"{path} and {other} overlap: one mount would hide the other",
            remedy="mount them side by side, e.g. below /s3",
            path=("mount_path",),
            value=path,
        )


def _groups(groups: Sequence[str] | None, known: Sequence[str]) -> Iterator[Problem]:
    bare = check_not_bare(groups, Code.S3_MOUNT, "groups")
    yield from bare
    if groups is None or bare:
        return
    if not groups:
        yield Problem(
            code=Code.S3_MOUNT,
            message="no group mounts it",
            remedy="name the groups that do, or leave `groups` out for all",
            path=("groups",),
            value=list(groups),
            allowed=", ".join(known),
        )
    for index, name in enumerate(groups):
        if name not in known and not is_unresolved(name):
            yield Problem(
                code=Code.S3_MOUNT,
                message=f"the cluster has no group {name!r}",
                remedy=did_you_mean(name, known, otherwise="name one of its groups, or leave `groups` out for all"),
                path=("groups", index),
                value=name,
                allowed=", ".join(known),
            )


def _overlap(one: str, other: str) -> bool:
    first, second = PurePosixPath(one), PurePosixPath(other)
    return first.is_relative_to(second) or second.is_relative_to(first)
