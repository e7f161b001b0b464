"""One line of a batch file's settings."""

import re
import shlex
from dataclasses import dataclass

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem

_LINE = re.compile(r"(?P<name>[A-Z][A-Z0-9_]*)=(?P<rest>.*)")
_VALUE = re.compile(
    r"""(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\#;&|<>()`])(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\;&|<>()`])*"""
)
"""A word as bash reads it, quoted or not, without what would end it and begin a command."""
_EXPANDS = re.compile(r"[$`]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """`NAME=value  # what it is`."""

    name: str
    """Upper case."""
    text: str
    """The value as bash reads it, with its quotes; empty for none."""
    comment: str
    """What it is, without the `#`."""
    line: int
    """Which line of the file, from 1."""

    @property
    def value(self) -> str | None:
        """The value that the job gets, or `None` when only bash on the node knows it, e.g. `"${RUN}/x"`."""
        single = self.text.startswith("'") and self.text.count("'") == 2 and self.text.endswith("'")
        if _EXPANDS.search(self.text) and not single:
            return None
        return "".join(shlex.split(self.text))

    @classmethod
    def parse(cls, line: str, number: int) -> "Setting | None":
        """Return the setting that `line` is, or `None` when it is something else."""
        match = _LINE.fullmatch(line.strip())
        if match is None:
            return None
        rest = match["rest"]
        word = _VALUE.match(rest)
        text = word[0] if word else ""
        after = rest[len(text) :]
        comment = after.strip()
        if comment and not (after[0].isspace() and comment.startswith("#")):
            return None
        return cls(name=match["name"], text=text, comment=comment.lstrip("#").strip(), line=number)


def quoted(value: str) -> str:
    """Return `value` as one word of bash that expands to nothing else, whatever is in it; nothing for nothing."""
    return shlex.quote(value) if value else ""


def check_value(name: str, value: str) -> list[Problem]:
    """Check that a line of bash can carry `value`."""
    if all(character.isprintable() for character in value):
        return []
    return [
        Problem(
            code=Code.BATCH_SETTING,
            message="a setting is one line of text: this has a line end or another character that does not print",
            value=value,
            remedy="leave it out",
            path=(name,),
        )
    ]
