"""Rules of S3 general purpose buckets, of key prefixes, and of FSx for Lustre's data repository associations."""

import re
from collections.abc import Iterator, Sequence

from llm_fleet.catalog.fsx import lustre_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.file_systems import words
from llm_fleet.rules.problem import AnyCode, Problem, is_unresolved, rule
from llm_fleet.spec.storage import BucketSpec, DataRepository, LustreBackups, LustreSpec

_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+")
_RESERVED_PREFIXES = ("xn--", "sthree-", "amzn-s3-demo-")
_RESERVED_SUFFIXES = ("-s3alias", "--ol-s3", ".mrap", "--x-s3", "--table-s3")
_ALLOWED = "3 to 63 lower-case letters, digits and hyphens, beginning and ending with a letter or digit"


@rule
def check_bucket_name(name: str | None) -> Iterator[Problem]:
    """Return a problem unless `name` is valid for a bucket. `None` is a name that CloudFormation generates.

    Source: S3 User Guide, general purpose bucket naming rules. A dot is allowed there, but breaks TLS to the
    host name of the bucket, so it is a problem as well.
    """
    if name is None or is_unresolved(name):
        return
    reason = _reason(name)
    if reason is not None:
        yield Problem(
            code=Code.BUCKET_NAME,
            path=("bucket_name",),
            value=name,
            message=reason,
            allowed=_ALLOWED,
            remedy="write another name, or remove it to let CloudFormation generate one",
        )


def check_bucket(bucket: BucketSpec) -> list[Problem]:
    """Return what is wrong with name and lifecycle of `bucket`."""
    return [*check_bucket_name(bucket.bucket_name), *_check_lifecycle(bucket)]


def _check_lifecycle(bucket: BucketSpec) -> Iterator[Problem]:
    """Return a problem for each number of days below 1."""
    days = {
        "noncurrent_version_days": bucket.noncurrent_version_days,
        "incomplete_upload_days": bucket.incomplete_upload_days,
    }
    for name, value in days.items():
        if not is_unresolved(value) and value < 1:
            yield Problem(
                code=Code.BUCKET_LIFECYCLE,
                path=(name,),
                value=value,
                message=f"`{name}` must be at least 1 day",
                allowed="1 or more",
                remedy="write at least 1",
            )


def _reason(name: str) -> str | None:
    if not _NAME.fullmatch(name) or ".." in name or _ADDRESS.fullmatch(name):
        return "S3 rejects this bucket name"
    if "." in name:
        return "a dot in the bucket name breaks TLS to the bucket"
    for part in (*_RESERVED_PREFIXES, *_RESERVED_SUFFIXES):
        if name.startswith(part) if part in _RESERVED_PREFIXES else name.endswith(part):
            return f"S3 reserves bucket names with {part!r}"
    return None


def bucket_and_prefix(uri: str) -> tuple[str, str]:
    """Return bucket and prefix, or key, of `s3://bucket/prefix`, without slashes at the prefix's ends."""
    bucket, _, prefix = uri.removeprefix("s3://").partition("/")
    return bucket, prefix.strip("/")


_PATTERN = "*?$"
"""Characters with a special meaning in IAM policies: wildcards, and the beginning of a variable."""


@rule
def check_key_prefix(prefix: str | None, code: AnyCode) -> Iterator[Problem]:
    """Return a problem unless `prefix` is a valid prefix of keys; `None` is the whole bucket."""
    fault = None if prefix is None or is_unresolved(prefix) else _fault(prefix)
    if prefix is None or fault is None:
        return
    repaired = prefix.partition("://")[2].partition("/")[2] if "://" in prefix else prefix
    repaired = "".join(character for character in repaired if character not in _PATTERN)
    repaired = "/".join(part for part in repaired.split("/") if part not in ("", ".", ".."))
    yield Problem(
        code=code,
        message=f"the prefix {fault}",
        remedy=f"write `{repaired}`" if repaired else "remove it to use the whole bucket",
        path=("prefix",),
        value=prefix,
    )


def _fault(prefix: str) -> str | None:
    if not prefix.strip("/"):
        return "is empty"
    if "://" in prefix:
        return "is a URI, not a prefix of keys"
    if prefix.startswith("/"):
        return "must not begin with a slash"
    if {"", ".", ".."} & set(prefix.removesuffix("/").split("/")):
        return "must not contain an empty part, `.` or `..`"
    if any(character in prefix for character in _PATTERN):
        return "must not contain `*`, `?` or `$`, which IAM policies interpret as wildcards or variables"
    return None


_S3_PATH = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/.*)?")


def check_data_repositories(spec: LustreSpec, repositories: Sequence[DataRepository]) -> list[Problem]:
    """Return everything that FSx would reject in `repositories` on a file system of `spec`.

    Paths of the problems begin with `data_repositories` and an index, or name an attribute of `spec`.
    """
    if not repositories:
        return []
    problems = [*_check_support(spec), *_check_count(repositories), *_check_backups(spec)]
    for index, repository in enumerate(repositories):
        problems += [p.under("data_repositories", index) for p in _check_one(repository)]
    return [*problems, *_check_overlaps(repositories)]


def _check_support(spec: LustreSpec) -> Iterator[Problem]:
    variant = spec.variant
    versions = lustre_limits().data_repository_versions
    if variant is not None and not variant.data_repositories:
        kind = variant.storage_type if variant.storage_type == "INTELLIGENT_TIERING" else variant.deployment_type
        yield Problem(
            code=Code.DATA_REPOSITORY_UNSUPPORTED,
            path=("data_repositories",),
            message=f"{kind} file systems cannot be linked to S3",
            remedy="use PERSISTENT_2 on SSD, or copy the data with a job",
        )
        return
    if is_unresolved(spec.version) or spec.version in versions:
        return
    if spec.version in lustre_limits().versions:  # `check_lustre` reports other versions.
        yield spec.wrong(
            "version",
            Code.DATA_REPOSITORY_UNSUPPORTED,
            f"Lustre {spec.version} cannot be linked to S3",
            f"write {versions[-1]}, or remove it",
            allowed=words(versions),
        )


def _check_count(repositories: Sequence[DataRepository]) -> Iterator[Problem]:
    most = lustre_limits().data_repositories
    if len(repositories) > most:
        yield Problem(
            code=Code.DATA_REPOSITORY_LIMIT,
            path=("data_repositories",),
            value=len(repositories),
            message=f"a file system can have at most {most} data repositories, and this one has {len(repositories)}",
            allowed=f"at most {most}",
            remedy="replace some of them with their common prefix",
        )


def _check_backups(spec: LustreSpec) -> Iterator[Problem]:
    backups = spec.backups or LustreBackups()
    settings = {"retention_days": backups.retention_days, "copy_tags": backups.copy_tags}
    for name, value in settings.items():
        if value and not is_unresolved(value):
            yield spec.wrong(
                ("backups", name),
                Code.FILE_SYSTEM_BACKUP,
                "FSx does not support backups of a file system that is linked to S3",
                "remove it if nothing is deployed yet, or link a second file system to S3",
                value=value,
            )


def _check_one(repository: DataRepository) -> Iterator[Problem]:
    s3_path, path = repository.data_repository_path, repository.file_system_path
    if not is_unresolved(s3_path) and not _S3_PATH.fullmatch(s3_path):
        yield repository.wrong(
            "s3",
            Code.DATA_REPOSITORY_PATH,
            "this is not the S3 URI of a bucket or prefix",
            "write s3://bucket/prefix/",
            allowed="s3://bucket or s3://bucket/prefix/",
            value=s3_path,
        )
    if not is_unresolved(path) and not path.startswith("/"):
        yield repository.wrong(
            "file_system_path",
            Code.DATA_REPOSITORY_PATH,
            "a path on the file system must begin with a slash",
            f"write `/{path}`",
        )
    if repository.prefix and isinstance(repository.s3, str):
        yield repository.wrong(
            "prefix",
            Code.DATA_REPOSITORY_PATH,
            "`prefix` cannot be used with an s3:// URI, which contains the prefix",
            "write the prefix in the URI, s3://bucket/prefix/",
        )


def _check_overlaps(repositories: Sequence[DataRepository]) -> Iterator[Problem]:
    columns = (
        ("file_system_path", "directories", [repository.file_system_path for repository in repositories]),
        ("s3", "S3 paths", [repository.data_repository_path for repository in repositories]),
    )
    for name, what, paths in columns:
        for later in range(len(paths)):
            for earlier in range(later):
                if _overlap(paths[earlier], paths[later]):
                    yield Problem(
                        code=Code.DATA_REPOSITORY_OVERLAP,
                        path=("data_repositories", later, name),
                        value=paths[later],
                        message=f"this overlaps with {paths[earlier]!r}: {what} of one file system must not contain "
                        "each other",
                        remedy="write a path next to the other, not inside it",
                    )


def _overlap(one: str, other: str) -> bool:
    """CDK tokens are compared as text: equal tokens are the same bucket; of different ones nothing is known."""
    first, second = (path.rstrip("/") + "/" for path in (one, other))
    return first.startswith(second) or second.startswith(first)
