"""What a plain scalar of YAML stands for: the core schema of YAML 1.2, which holds no surprises.

PyYAML follows YAML 1.1, where `no` is false, `13:30` is 810, `010` is 8 and `2026-12-01` is an object.
"""

import re

_WORDS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NULLS = {"", "~", "null", "Null", "NULL"}
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_DIGITS = 18
"""More than any number of a fleet has; what is longer stays text and is told as such."""


def plain_scalar(text: str) -> str | int | float | bool | None:
    """Return what `text`, written without quotes, stands for."""
    if text in _NULLS:
        return None
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= _DIGITS and _INTEGER.fullmatch(text):
        return int(text)
    if len(text) <= _DIGITS and _NUMBER.fullmatch(text):
        return _finite(float(text), text)
    return text


def _finite(number: float, text: str) -> float | str:
    return number if abs(number) != float("inf") else text
