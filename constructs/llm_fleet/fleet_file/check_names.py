"""The fleet's own name."""

import re

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem

_LONGEST = 40
"""So that the names of stacks and buckets, which begin with it, keep within 63 characters."""
_FORM = re.compile(r"[a-z](-?[a-z0-9])*")


def check_fleet_name(name: str) -> list[Problem]:
    """Return a problem unless `name` can begin the names of stacks and buckets."""
    if len(name) <= _LONGEST and _FORM.fullmatch(name):
        return []
    mended = fleet_name_of(name)
    return [
        Problem(
            code=Code.FLEET_NAME,
            message="the names of stacks and buckets begin with the fleet's name, and this cannot begin them",
            remedy=f"write `{mended}`" if mended else "write a word of lower-case letters",
            path=("name",),
            value=name,
            allowed=f"at most {_LONGEST} lower-case letters, digits and single hyphens, beginning with a letter",
        )
    ]


def fleet_name_of(text: str) -> str:
    """Return the fleet name most like `text`; empty when nothing of it can be kept."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-").lstrip("-0123456789")[:_LONGEST].rstrip("-")
