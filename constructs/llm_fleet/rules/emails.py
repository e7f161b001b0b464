"""Addresses that somebody is told at by e-mail."""

import re
from collections.abc import Sequence

from llm_fleet.rules.any_code import AnyCode
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_list_token, is_unresolved

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


def check_emails(emails: Sequence[str], code: AnyCode, *path: str) -> list[Problem]:
    """Return a problem below `path` for each of `emails` that is no address, or is there twice. Tokens pass."""
    if is_list_token(emails):
        return []
    return [
        Problem(
            code=code,
            path=(*path, index),
            value=email,
            message="this is no e-mail address, or is there twice",
            allowed="name@example.com, each once",
            remedy="write the address alone, without a name before it",
        )
        for index, email in enumerate(emails)
        if not is_unresolved(email)
        and (type(email) is not str or not _EMAIL.fullmatch(email) or email in emails[:index])
    ]
