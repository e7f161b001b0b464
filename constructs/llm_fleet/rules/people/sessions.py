"""Sessions that run as a user of the node, by the tag of a role."""

from collections.abc import Sequence

from llm_fleet.catalog.nodes import node_user_facts, session_facts
from llm_fleet.rules.feature_codes import PeopleCode
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import did_you_mean


def check_run_as(user: str, known: Sequence[str] | None) -> list[Problem]:
    """Return what is wrong with sessions that run as `user`.

    `known`: the cluster's users; `None` where nobody knows them all, as with a directory.
    """
    if is_unresolved(user):
        return []
    if not isinstance(user, str) or not node_user_facts().name_form.fullmatch(user):  # pyright: ignore[reportUnnecessaryIsInstance]
        return [_run_as(user, "this is no login name", "write a name of `users`")]
    if user in session_facts().refused_users:
        return [
            _run_as(user, "Session Manager runs no session as root", "write a user with `sudo`, who can become root")
        ]
    if known is None or user in (*known, *session_facts().image_users) or is_unresolved(list(known)):
        return []
    remedy = did_you_mean(user, known, otherwise="write one of the cluster's `users`, or add the user there")
    return [
        _run_as(user, "the cluster's nodes have no such user, and Session Manager would refuse every session", remedy)
    ]


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


def _minutes(attribute: str, minutes: object, allowed: tuple[int, int]) -> list[Problem]:
    least, most = allowed
    # Not every user has a type checker.
    if is_unresolved(minutes) or (type(minutes) is int and least <= minutes <= most):
        return []
    return [
        Problem(
            code=PeopleCode.SESSION,
            message="Session Manager ends sessions after other times",
            remedy=f"write a whole number of minutes, e.g. {min(20, most)}",
            path=(attribute,),
            value=minutes,
            allowed=f"{least} to {most} minutes",
        )
    ]
