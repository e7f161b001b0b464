"""What FSx for Lustre refuses of its links to S3."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from llm_fleet.catalog.lustre import lustre_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.file_systems import check_choice, words
from llm_fleet.rules.lustre_settings import LustreSettings
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

_S3_PATH = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/.*)?")


class DataRepositoryLike(Protocol):
    """A directory of a Lustre file system that mirrors S3, as the fleet file or a construct tells it."""

    @property
    def data_repository_path(self) -> str:
        """`s3://bucket` or `s3://bucket/prefix/`."""
        ...

    @property
    def file_system_path(self) -> str:
        """The directory, from the file system's root."""
        ...

    @property
    def auto_import(self) -> Sequence[str]:
        """Changes in S3 that show in the directory: `NEW`, `CHANGED`, `DELETED`."""
        ...

    @property
    def auto_export(self) -> Sequence[str]:
        """Changes in the directory that are written back to S3."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRepository:
    """A directory of a Lustre file system, linked to a bucket or a prefix of one."""

    data_repository_path: str
    """`s3://bucket` or `s3://bucket/prefix/`."""
    file_system_path: str
    """Directory, from the file system's root: `/data` is `/fsx/data` where it is mounted at `/fsx`."""
    auto_import: tuple[str, ...] = ("NEW", "CHANGED", "DELETED")
    """Changes in S3 that show in the directory. Default: all three."""
    auto_export: tuple[str, ...] = ()
    """Changes in the directory that are written back to S3. Default: none, so that a job's slip stays its own."""
    import_existing: bool = True
    """Whether what lies in S3 already is listed in the directory at once."""


def check_data_repositories(settings: LustreSettings, repositories: Sequence[DataRepositoryLike]) -> list[Problem]:
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
    if settings.version not in lustre_limits().versions:  # `check_version` tells it.
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


def _check_count(repositories: Sequence[DataRepositoryLike]) -> list[Problem]:
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
    asked = {
        "backup_retention_days": settings.backup_retention_days,
        "copy_tags_to_backups": settings.copy_tags_to_backups,
    }
    return [
        Problem(
            code=Code.FILE_SYSTEM_BACKUP,
            path=(name,),
            value=value,
            message="a file system that is linked to S3 has no backups: S3 is its primary copy",
            remedy="leave it out where nothing is deployed yet, or link a second file system to S3",
        )
        for name, value in asked.items()
        if value and not is_unresolved(value)
    ]


def _check_one(repository: DataRepositoryLike) -> list[Problem]:
    problems: list[Problem] = []
    s3_path, path = repository.data_repository_path, repository.file_system_path
    if not is_unresolved(s3_path) and not _S3_PATH.fullmatch(s3_path):
        problems.append(
            Problem(
                code=Code.DATA_REPOSITORY_PATH,
                path=("data_repository_path",),
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
    for name, events in (("auto_import", repository.auto_import), ("auto_export", repository.auto_export)):
        for event in events:
            problems += check_choice(
                event,
                lustre_limits().data_repository_events,
                code=Code.DATA_REPOSITORY_OPTION,
                name=name,
                what="there is no event",
            )
    return problems


def _check_overlaps(repositories: Sequence[DataRepositoryLike]) -> list[Problem]:
    problems: list[Problem] = []
    columns = (
        ("file_system_path", "directories", [repository.file_system_path for repository in repositories]),
        ("data_repository_path", "S3 paths", [repository.data_repository_path for repository in repositories]),
    )
    for name, what, paths in columns:
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
    """Tokens are compared as they are: two that look alike are the same bucket, of others nothing can be told."""
    first, second = (path.rstrip("/") + "/" for path in (one, other))
    return first.startswith(second) or second.startswith(first)
