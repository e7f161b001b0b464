"""The part of a bucket's keys that something lies below."""

from llm_fleet.rules.any_code import AnyCode
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

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
