"""The stable codes of everything that llm-fleet refuses at synth. A code is never reused for another mistake.

LF1xx the fleet file itself · LF2xx network · LF3xx storage · LF4xx roles and the lifecycle bundle · LF5xx HyperPod
"""

from enum import StrEnum


class Code(StrEnum):
    """One mistake, one code. The string after the code says in short what it stands for."""

    def __new__(cls, code: str, title: str) -> "Code":
        """Make a member whose value is `code` and whose `title` says in short what the mistake is."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.title_ = title
        return member

    title_: str

    FILE_UNREADABLE = "LF101", "the fleet file cannot be read"
