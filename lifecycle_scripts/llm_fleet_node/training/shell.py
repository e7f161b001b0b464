"""Writes values into shell scripts, whatever is in them."""

from __future__ import annotations

import re
import shlex

_PLAIN = re.compile(r"[\w@%+=:,./^ -]*", re.ASCII)
"""What means nothing between `"${NAME-` and `}"`, where quotes and backslashes do, each in its own way (bash(1))."""


def export(name: str, value: str) -> str:
    """Return the line that sets `name` to `value`, whatever it was before."""
    return f"export {name}={shlex.quote(value)}\n"


def export_unless_set(name: str, value: str) -> str:
    """Return the line that sets `name` to `value` unless it is set already, even if to nothing."""
    if _PLAIN.fullmatch(value):
        return f'export {name}="${{{name}-{value}}}"\n'
    return f'[ -n "${{{name}+set}}" ] || export {name}={shlex.quote(value)}\n'
