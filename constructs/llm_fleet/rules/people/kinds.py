"""Whether what a program gives for people is of the right kind at all: not every user has a type checker."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from llm_fleet.rules.feature_codes import PeopleCode
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.people import Directory, SlurmAccount


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What a value must be."""

    fits: Callable[[Any], bool]
    """Whether a value is of it."""
    remedy: str
    """What to write."""


def _with(*attributes: str) -> Callable[[Any], bool]:
    """Match constructs by what is asked of them: rules know no CDK."""
    return lambda value: all(hasattr(value, name) for name in attributes)


def _or_nothing(kind: Kind) -> Kind:
    return Kind(fits=lambda value: value is None or kind.fits(value), remedy=f"{kind.remedy}, or leave it out")


_SESSION = {
    "log_group": _or_nothing(
        Kind(
            fits=_with("log_group_name", "log_group_arn"),
            remedy="give a log group, e.g. LogGroup.from_log_group_name(…)",
        )
    ),
    "log_group_is_encrypted": Kind(fits=lambda value: isinstance(value, bool), remedy="write True or False"),
    "log_bucket": _or_nothing(
        Kind(fits=_with("bucket_name", "bucket_arn"), remedy="give a bucket, e.g. Bucket.from_bucket_name(…)")
    ),
    "log_prefix": Kind(
        fits=lambda value: isinstance(value, str) and bool(value.strip("/")) and value.strip("/") == value,
        remedy="write a prefix without slashes at its ends, e.g. 'sessions'",
    ),
    "key": _or_nothing(Kind(fits=_with("key_arn", "key_id"), remedy="give a key, e.g. Key.from_key_arn(…)")),
}


def check_account_kinds(accounts: object) -> list[Problem]:
    """Return what is no list of accounts, or no account; no other rule can look at such a one."""
    if not isinstance(accounts, list | tuple):
        return [_wrong(PeopleCode.ACCOUNT_NAME, accounts, "write a list of SlurmAccount(…)", "slurm_accounts")]
    return [
        _wrong(PeopleCode.ACCOUNT_NAME, account, "write SlurmAccount(name=…)").under("slurm_accounts", index)
        for index, account in enumerate(cast("list[object]", accounts))
        if not isinstance(account, SlurmAccount)
    ]


def check_directory_kind(directory: object) -> list[Problem]:
    """Return a problem for what is no directory."""
    if directory is None or isinstance(directory, Directory):
        return []
    # Its text may be anything, a password among it.
    return [_wrong(PeopleCode.DIRECTORY_VALUE, None, "write Directory(domain=…, …)", "directory")]


def check_session_kinds(given: Mapping[str, object]) -> list[Problem]:
    """Return which of a session document's parameters are not what they must be."""
    return list(_values(PeopleCode.SESSION, _SESSION, given.__getitem__))


def no_document(given: object) -> Problem:
    """Return the problem of something that is no session document."""
    return _wrong(
        PeopleCode.SESSION, given, "give a SessionDocument: by its name alone nobody knows its key", "document"
    )


def _values(code: PeopleCode, kinds: Mapping[str, Kind], value_of: Callable[[str], object]) -> Iterator[Problem]:
    for name, kind in kinds.items():
        value = value_of(name)
        if not kind.fits(value):
            yield _wrong(code, value, kind.remedy, name)


def _wrong(code: PeopleCode, value: object, remedy: str, *path: str) -> Problem:
    message = "this is of another kind than what is wanted here"
    return Problem(code=code, message=message, remedy=remedy, path=path, value=value)
