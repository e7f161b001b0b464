"""Quotes any values for shell scripts."""

from __future__ import annotations

import re
import shlex

_PLAIN = re.compile(r"[\w@%+=:,./^ -]*", re.ASCII)
"""Characters without a special meaning between `"${NAME-` and `}"`, unlike quotes and backslashes (bash(1))."""


def export(name: str, value: str) -> str:
    """Return the line that always sets `name` to `value`."""
    return f"export {name}={shlex.quote(value)}\n"


def export_unless_set(name: str, value: str) -> str:
    """Return the line that sets `name` to `value` unless it is already set, also to an empty value."""
    if _PLAIN.fullmatch(value):
        return f'export {name}="${{{name}-{value}}}"\n'
    return f'[ -n "${{{name}+set}}" ] || export {name}={shlex.quote(value)}\n'
