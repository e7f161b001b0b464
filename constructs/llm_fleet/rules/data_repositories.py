"""What FSx for Lustre refuses of its links to S3."""

import re
from collections.abc import Sequence

from llm_fleet.catalog.fsx import lustre_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.file_systems import words
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.lustre import DataRepository, LustreBackups, LustreSpec

_S3_PATH = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/.*)?")


def check_data_repositories(spec: LustreSpec, repositories: Sequence[DataRepository]) -> list[Problem]:
    """Return everything that FSx would refuse of `repositories` on a file system of `spec`.

    Paths of the problems begin with `data_repositories` and an index, or name an attribute of `spec`.
    """
    if not repositories:
        return []
    problems = [*_check_support(spec), *_check_count(repositories), *_check_backups(spec)]
    for index, repository in enumerate(repositories):
        problems += [p.under("data_repositories", index) for p in _check_one(repository)]
    return [*problems, *_check_overlaps(repositories)]


def _check_support(spec: LustreSpec) -> list[Problem]:
    variant = spec.variant
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
    if is_unresolved(spec.version) or spec.version in versions:
        return []
    if spec.version not in lustre_limits().versions:  # `check_lustre` reports it.
        return []
    return [
        Problem(
            code=Code.DATA_REPOSITORY_UNSUPPORTED,
            path=("version",),
            value=spec.version,
            message=f"Lustre {spec.version} cannot be linked to S3",
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


def _check_backups(spec: LustreSpec) -> list[Problem]:
    backups = spec.backups or LustreBackups()
    asked = {"retention_days": backups.retention_days, "copy_tags": backups.copy_tags}
    return [
        Problem(
            code=Code.FILE_SYSTEM_BACKUP,
            path=("backups", name),
            value=value,
            message="a file system that is linked to S3 has no backups: S3 is its primary copy",
            remedy="leave it out where nothing is deployed yet, or link a second file system to S3",
        )
        for name, value in asked.items()
        if value and not is_unresolved(value)
    ]


def _check_one(repository: DataRepository) -> list[Problem]:
    problems: list[Problem] = []
    s3_path, path = repository.data_repository_path, repository.file_system_path
    if not is_unresolved(s3_path) and not _S3_PATH.fullmatch(s3_path):
        problems.append(
            Problem(
                code=Code.DATA_REPOSITORY_PATH,
                path=("s3",),
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
    if repository.prefix and isinstance(repository.s3, str):
        problems.append(
            Problem(
                code=Code.DATA_REPOSITORY_PATH,
                path=("prefix",),
                value=repository.prefix,
                message="a prefix goes with a bucket of the CDK: an s3:// path has its own",
                remedy="write it behind the bucket, s3://bucket/prefix/",
            )
        )
    return problems


def _check_overlaps(repositories: Sequence[DataRepository]) -> list[Problem]:
    problems: list[Problem] = []
    columns = (
        ("file_system_path", "directories", [repository.file_system_path for repository in repositories]),
        ("s3", "S3 paths", [repository.data_repository_path for repository in repositories]),
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
