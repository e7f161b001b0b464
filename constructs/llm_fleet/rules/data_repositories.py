"""What FSx for Lustre refuses of its links to S3."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from llm_fleet.catalog.lustre import lustre_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.file_systems import check_choice, words
from llm_fleet.rules.lustre_settings import LustreSettings
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

_EVERY_EVENT = ("NEW", "CHANGED", "DELETED")
_S3_PATH = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/.*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRepository:
    """A directory of a Lustre file system, linked to a bucket or a prefix of one."""

    s3_path: str
    """`s3://bucket` or `s3://bucket/prefix/`."""
    file_system_path: str
    """Directory on the file system, from its root: `/data` is `/fsx/data` where it is mounted at `/fsx`."""
    auto_import: tuple[str, ...] = _EVERY_EVENT
    """What happens in S3 that the file system follows by itself: `NEW`, `CHANGED`, `DELETED`, or nothing."""
    auto_export: tuple[str, ...] = ()
    """What happens on the file system that S3 follows by itself. Nothing: a training job's slip stays its own."""
    import_metadata_on_create: bool = True
    """Whether objects that are already in S3 are listed on the file system from the start."""
    imported_file_chunk_size_mib: int | None = None
    """MiB of an imported file on one disk, which sets its stripe count. Default: 1024, chosen by the service."""


def check_data_repositories(settings: LustreSettings, repositories: Sequence[DataRepository]) -> list[Problem]:
    """Return everything that FSx would refuse of `repositories` on a file system of `settings`.

    Paths of the problems begin with `data_repositories` and an index, or name an attribute of `settings`.
    """
    if not repositories:
        return []
    problems = [*_check_support(settings), *_check_count(repositories), *_check_backups(settings)]
    for index, repository in enumerate(repositories):
        problems += [p.under("data_repositories", index) for p in _check_one(repository)]
    return [*problems, *_check_overlaps(repositories)]


def _check_support(settings: LustreSettings) -> list[Problem]:
    variant = settings.variant
    versions = lustre_limits().data_repository_versions
    if variant is not None and not variant.data_repositories:
        kind = variant.storage_type if variant.storage_type == "INTELLIGENT_TIERING" else variant.deployment_type
        return [
            Problem(
                code=Code.DATA_REPOSITORY_UNSUPPORTED,
                path=("data_repositories",),
                message=f"{kind} file systems cannot be linked to S3",
                remedy="use PERSISTENT_2 on SSD, or copy the data with a job",
            )
        ]
    if is_unresolved(settings.version) or settings.version in versions:
        return []
    return [
        Problem(
            code=Code.DATA_REPOSITORY_UNSUPPORTED,
            path=("version",),
            value=settings.version,
            message=f"Lustre {settings.version} cannot be linked to S3",
            allowed=words(versions),
            remedy=f"take Lustre {versions[-1]}, or leave it out",
        )
    ]


def _check_count(repositories: Sequence[DataRepository]) -> list[Problem]:
    most = lustre_limits().data_repositories
    if len(repositories) <= most:
        return []
    return [
        Problem(
            code=Code.DATA_REPOSITORY_LIMIT,
            path=("data_repositories",),
            value=len(repositories),
            message=f"a file system takes no {len(repositories)} data repositories",
            allowed=f"at most {most}",
            remedy="link a common prefix of some of them instead",
        )
    ]


def _check_backups(settings: LustreSettings) -> list[Problem]:
    days = settings.backup_retention_days
    if not days or is_unresolved(days):
        return []
    return [
        Problem(
            code=Code.FILE_SYSTEM_BACKUP,
            path=("backup_retention_days",),
            value=days,
            message="a file system that is linked to S3 has no backups: S3 is its primary copy",
            allowed="0",
            remedy="leave it out, or link a second file system to S3",
        )
    ]


def _check_one(repository: DataRepository) -> list[Problem]:
    problems: list[Problem] = []
    s3_path, path = repository.s3_path, repository.file_system_path
    if not is_unresolved(s3_path) and not _S3_PATH.fullmatch(s3_path):
        problems.append(
            Problem(
                code=Code.DATA_REPOSITORY_PATH,
                path=("s3_path",),
                value=s3_path,
                message="not the path of a bucket or a prefix",
                allowed="s3://bucket or s3://bucket/prefix/",
                remedy="write it as s3://bucket/prefix/",
            )
        )
    if not is_unresolved(path) and not path.startswith("/"):
        problems.append(
            Problem(
                code=Code.DATA_REPOSITORY_PATH,
                path=("file_system_path",),
                value=path,
                message="a path on the file system begins with a slash",
                remedy=f"write '/{path}'",
            )
        )
    for name in ("auto_import", "auto_export"):
        for event in getattr(repository, name):
            problems += check_choice(
                event,
                lustre_limits().data_repository_events,
                code=Code.DATA_REPOSITORY_OPTION,
                name=name,
                what="there is no event",
            )
    least, most = lustre_limits().chunk_size_mib
    chunk = repository.imported_file_chunk_size_mib
    if chunk is not None and not is_unresolved(chunk) and not least <= chunk <= most:
        problems.append(
            Problem(
                code=Code.DATA_REPOSITORY_OPTION,
                path=("imported_file_chunk_size_mib",),
                value=chunk,
                message="not a chunk size that FSx takes",
                allowed=f"{least} to {most} MiB",
                remedy="leave it out for 1024 MiB",
            )
        )
    return problems


def _check_overlaps(repositories: Sequence[DataRepository]) -> list[Problem]:
    problems: list[Problem] = []
    for name, what in (("file_system_path", "directories"), ("s3_path", "S3 paths")):
        paths: list[str] = [getattr(repository, name) for repository in repositories]
        for later in range(len(paths)):
            for earlier in range(later):
                if _overlap(paths[earlier], paths[later]):
                    problems.append(
                        Problem(
                            code=Code.DATA_REPOSITORY_OVERLAP,
                            path=("data_repositories", later, name),
                            value=paths[later],
                            message=f"overlaps with {paths[earlier]!r}; {what} of one file system must lie apart",
                            remedy="choose one beside the other, not inside it",
                        )
                    )
    return problems


def _overlap(one: str, other: str) -> bool:
    if is_unresolved(one) or is_unresolved(other):
        return False
    first, second = (path.rstrip("/") + "/" for path in (one, other))
    return first.startswith(second) or second.startswith(first)
