"""What all lists of codes have in common."""

from enum import StrEnum
from typing import Self


class AnyCode(StrEnum):
    """One mistake, one code; lists of them are its subclasses. No two lists have a code in common."""

    def __new__(cls, code: str, title: str) -> Self:
        """Make a member whose value is `code` and whose `title_` says in short what the mistake is."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.title_ = title
        return member

    title_: str
