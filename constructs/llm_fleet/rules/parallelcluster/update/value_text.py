"""Writes values down in short, references of CloudFormation as `${Resource.Attribute}`."""

import json
from collections.abc import Mapping
from typing import Any, cast

from llm_fleet.rules.parallelcluster.update.values import Section, as_list

_WIDEST = 72


def value_text(value: Any) -> str:
    """Return `value` in one line of at most 72 characters; what is too long has its middle left out."""
    if value is None:
        return "(none)"
    text = _text(value)
    half = _WIDEST // 2
    return text if len(text) <= _WIDEST else f"{text[: half - 1]}…{text[-half:]}"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        section = cast("Section", value)
        return (
            _function_text(section) or "{" + ", ".join(f"{key}: {_text(item)}" for key, item in section.items()) + "}"
        )
    if isinstance(value, list):
        return f"[{', '.join(map(_text, as_list(value)))}]"
    return json.dumps(value)


def _function_text(section: Section) -> str:
    """`section` as a reference; empty where it is none of those that stand for a value."""
    if len(section) != 1:
        return ""
    ((function, argument),) = section.items()
    parts = as_list(argument)
    if function == "Ref":
        return f"${{{argument}}}"
    if function == "Fn::GetAtt" and parts:
        return f"${{{'.'.join(map(str, parts[:2]))}{''.join(f'#{digest}' for digest in parts[2:])}}}"
    if function == "Fn::Join" and len(parts) == 2:
        return str(parts[0]).join(map(_text, as_list(parts[1])))
    return ""
