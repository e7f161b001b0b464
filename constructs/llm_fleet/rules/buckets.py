"""What S3 refuses of a general purpose bucket, and of the part of its keys that something lies below."""

import re

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import AnyCode, Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.buckets import BucketSpec

_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+")
_RESERVED_PREFIXES = ("xn--", "sthree-", "amzn-s3-demo-")
_RESERVED_SUFFIXES = ("-s3alias", "--ol-s3", ".mrap", "--x-s3", "--table-s3")
_ALLOWED = "3 to 63 lower-case letters, digits and hyphens, beginning and ending with a letter or digit"


def check_bucket_name(name: str | None) -> list[Problem]:
    """Return a problem unless `name` may be a bucket's. `None` stands for a name that CloudFormation makes up.

    Source: S3 User Guide, general purpose bucket naming rules. A dot is legal there, but breaks TLS to the
    bucket's own host name, so that it is refused too.
    """
    if name is None or is_unresolved(name):
        return []
    reason = _reason(name)
    if reason is None:
        return []
    return [
        Problem(
            code=Code.BUCKET_NAME,
            path=("bucket_name",),
            value=name,
            message=reason,
            allowed=_ALLOWED,
            remedy="choose another name, or leave it out and let CloudFormation make one up",
        )
    ]


def check_bucket(bucket: BucketSpec) -> list[Problem]:
    """Return everything that S3 refuses of `bucket`."""
    return [*check_bucket_name(bucket.bucket_name), *_check_lifecycle(bucket)]


def _check_lifecycle(bucket: BucketSpec) -> list[Problem]:
    """Return a problem for each number of days that S3 refuses."""
    days = {
        "noncurrent_version_days": bucket.noncurrent_version_days,
        "incomplete_upload_days": bucket.incomplete_upload_days,
    }
    return [
        Problem(
            code=Code.BUCKET_LIFECYCLE,
            path=(name,),
            value=value,
            message="a lifecycle acts after whole days",
            allowed="1 or more",
            remedy="take at least 1",
        )
        for name, value in days.items()
        if not is_unresolved(value) and value < 1
    ]


def _reason(name: str) -> str | None:
    if not _NAME.fullmatch(name) or ".." in name or _ADDRESS.fullmatch(name):
        return "not a name that S3 accepts for a bucket"
    if "." in name:
        return "a dot in a bucket's name breaks TLS to it"
    for part in (*_RESERVED_PREFIXES, *_RESERVED_SUFFIXES):
        if name.startswith(part) if part in _RESERVED_PREFIXES else name.endswith(part):
            return f"S3 keeps names with {part!r} for itself"
    return None


def bucket_and_prefix(uri: str) -> tuple[str, str]:
    """Return bucket and prefix, or key, of `s3://bucket/prefix`, without slashes at the prefix's ends."""
    bucket, _, prefix = uri.removeprefix("s3://").partition("/")
    return bucket, prefix.strip("/")


_PATTERN = "*?$"
"""What policies read as any text, any character, or the beginning of a variable."""


def check_key_prefix(prefix: str | None, code: AnyCode) -> list[Problem]:
    """Return a problem unless keys can lie below `prefix`; `None` stands for the whole bucket."""
    fault = None if prefix is None or is_unresolved(prefix) else _fault(prefix)
    if prefix is None or fault is None:
        return []
    mended = prefix.partition("://")[2].partition("/")[2] if "://" in prefix else prefix
    mended = "".join(character for character in mended if character not in _PATTERN)
    mended = "/".join(part for part in mended.split("/") if part not in ("", ".", ".."))
    return [
        Problem(
            code=code,
            message=f"the prefix {fault}",
            remedy=f"write {mended!r}" if mended else "leave it out for the whole bucket",
            path=("prefix",),
            value=prefix,
        )
    ]


def _fault(prefix: str) -> str | None:
    if not prefix.strip("/"):
        return "is empty"
    if "://" in prefix:
        return "is an address, not a part of the bucket's keys"
    if prefix.startswith("/"):
        return "begins with a slash, as no key does"
    if {"", ".", ".."} & set(prefix.removesuffix("/").split("/")):
        return "has an empty part, `.` or `..` in it, which no folder can show"
    if any(character in prefix for character in _PATTERN):
        return "has one of `* ? $` in it, by which IAM would grant more than what lies below it"
    return None
