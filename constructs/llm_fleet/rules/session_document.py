"""Session documents, and sessions that run as a user of the node, by the tag of a role."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from llm_fleet.catalog.nodes import node_user_facts, session_facts
from llm_fleet.rules.feature_codes import PeopleCode
from llm_fleet.rules.fields import Form, check_forms
from llm_fleet.rules.problem import Problem, rule
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import did_you_mean

_CODE = PeopleCode.SESSION
_FORMS = {
    "log_group": Form(
        wanted="a log group",
        has=("log_group_name", "log_group_arn"),
        remedy="give a log group, e.g. LogGroup.from_log_group_name(…), or leave it out",
        optional=True,
        code=_CODE,
    ),
    "log_group_is_encrypted": Form(wanted="True or False", types=(bool,), remedy="write True or False", code=_CODE),
    "log_bucket": Form(
        wanted="a bucket",
        has=("bucket_name", "bucket_arn"),
        remedy="give a bucket, e.g. Bucket.from_bucket_name(…), or leave it out",
        optional=True,
        code=_CODE,
    ),
    "log_prefix": Form(wanted="a text", types=(str,), remedy="write a prefix, e.g. 'sessions'", code=_CODE),
    "key": Form(
        wanted="a KMS key",
        has=("key_arn", "key_id"),
        remedy="give a key, e.g. Key.from_key_arn(…), or leave it out",
        optional=True,
        code=_CODE,
    ),
}


def check_session_document(given: Mapping[str, Any]) -> list[Problem]:
    """Return which of a session document's parameters are not what they must be."""
    prefix = given["log_prefix"]
    found = check_forms(given, _FORMS)
    if isinstance(prefix, str) and (not prefix.strip("/") or prefix.strip("/") != prefix):
        found += [
            Problem(
                code=_CODE,
                message="the prefix of the logs is empty, or has a slash at one of its ends",
                remedy="write a prefix without slashes at its ends, e.g. 'sessions'",
                path=("log_prefix",),
                value=prefix,
            )
        ]
    return found


def no_document(given: object) -> Problem:
    """Return the problem of something that is no session document."""
    return Problem(
        code=_CODE,
        message=f"this must be a SessionDocument, and is of type {type(given).__name__}",
        remedy="give a SessionDocument: by its name alone nobody knows its key",
        path=("document",),
        value=given,
    )


@rule
def check_run_as(user: str, known: Sequence[str] | None) -> Iterator[Problem]:
    """Return what is wrong with sessions that run as `user`.

    `known`: the cluster's users; `None` where nobody knows them all, as with a directory.
    """
    if is_unresolved(user):
        return
    if not isinstance(user, str) or not node_user_facts().name_form.fullmatch(user):  # pyright: ignore[reportUnnecessaryIsInstance]
        yield _run_as(user, "this is no login name", "write a name of `users`")
        return
    if user in session_facts().refused_users:
        yield _run_as(user, "Session Manager runs no session as root", "write a user with `sudo`, who can become root")
        return
    if known is None or user in (*known, *session_facts().image_users) or is_unresolved(list(known)):
        return
    remedy = did_you_mean(user, known, otherwise="write one of the cluster's `users`, or add the user there")
    yield _run_as(user, "the cluster's nodes have no such user, and Session Manager would refuse every session", remedy)


def check_session_times(*, idle_minutes: int, duration_minutes: int | None) -> list[Problem]:
    """Return what is wrong with the times after which a session ends."""
    facts = session_facts()
    return [
        *_minutes("idle_timeout_minutes", idle_minutes, facts.idle_minutes),
        *([] if duration_minutes is None else _minutes("max_minutes", duration_minutes, facts.duration_minutes)),
    ]


def cannot_tag(why: str, remedy: str) -> Problem:
    """Return the problem of a role that cannot be given the tag."""
    return Problem(code=PeopleCode.RUN_AS, message=why, remedy=remedy, path=("role",))


def _run_as(user: object, message: str, remedy: str) -> Problem:
    return Problem(code=PeopleCode.RUN_AS, message=message, remedy=remedy, path=("user",), value=user)


def _minutes(attribute: str, minutes: object, allowed: tuple[int, int]) -> Iterator[Problem]:
    least, most = allowed
    # Not every user has a type checker.
    if is_unresolved(minutes) or (type(minutes) is int and least <= minutes <= most):
        return
    yield Problem(
        code=PeopleCode.SESSION,
        message="Session Manager ends sessions after other times",
        remedy=f"write a whole number of minutes, e.g. {min(20, most)}",
        path=(attribute,),
        value=minutes,
        allowed=f"{least} to {most} minutes",
    )
