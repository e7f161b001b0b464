"""Parses JSON and YAML as CloudFormation writes them, short forms of intrinsic functions among them."""

import json
from typing import Any

import yaml

_WITHOUT_PREFIX = ("Ref", "Condition")


def parse(text: str) -> Any:
    """Return what JSON or YAML `text` holds, `!GetAtt A.B` as `{"Fn::GetAtt": ["A", "B"]}`.

    Dates stay text, as CloudFormation has them. Raises `ValueError` with a reason in one line.
    """
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text)
        except ValueError:
            pass  # YAML's flow style begins like that, too.
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader, with the short forms added
    except (yaml.YAMLError, RecursionError) as error:
        problem = getattr(error, "problem", None) or type(error).__name__
        mark = getattr(error, "problem_mark", None)
        raise ValueError(f"{problem} in line {mark.line + 1}" if mark else str(problem)) from None


class _Loader(yaml.SafeLoader):
    """YAML without anything but plain values and CloudFormation's tags."""


def _function(loader: _Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    value = _value(loader, node)
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {suffix if suffix in _WITHOUT_PREFIX else f"Fn::{suffix}": value}


def _value(loader: _Loader, node: yaml.Node) -> Any:
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    return loader.construct_scalar(node)  # pyright: ignore[reportArgumentType]


def _text(loader: _Loader, node: yaml.Node) -> Any:
    return loader.construct_scalar(node)  # pyright: ignore[reportArgumentType]


_Loader.add_multi_constructor("!", _function)  # pyright: ignore[reportUnknownMemberType] - the stubs are vague
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _text)
