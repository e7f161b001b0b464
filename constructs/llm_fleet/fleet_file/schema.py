"""The JSON Schema of the fleet file, which gives editors completion, descriptions and first errors."""

import ast
import inspect
import json
from collections.abc import Iterator, Mapping
from functools import cache
from textwrap import dedent
from typing import Any, cast

from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.spec import SHORTHAND


@cache
def descriptions(model: type[FleetModel]) -> Mapping[str, str]:
    """Return the docstring of each attribute of `model`, by attribute name.

    Pydantic can read it too, but does so whenever the models are imported: that took half of the import time in each
    synthesis.
    """
    tree = ast.parse(dedent(inspect.getsource(model)))
    (definition,) = tree.body
    assert isinstance(definition, ast.ClassDef)
    inherited = [base for base in model.__bases__ if issubclass(base, FleetModel)]
    found: dict[str, str] = {key: text for base in inherited for key, text in descriptions(base).items()}
    for statement, following in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            text = _text(following)
            if text:
                found[statement.target.id] = text
    return {attribute: text for attribute, text in found.items() if attribute in model.model_fields}


def _text(statement: ast.stmt) -> str:
    """Return the text of a statement that is only a string."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return inspect.cleandoc(str(statement.value.value))
    return ""


_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def fleet_schema() -> dict[str, Any]:
    """Return the schema, made from the models."""
    made = Fleet.model_json_schema(by_alias=True)
    short = {f"#/$defs/{name}": definition.pop(SHORTHAND, []) for name, definition in made["$defs"].items()}
    schema = cast(dict[str, Any], _tidy(_with_shorthand(made, short)))
    for model in _models(FleetModel):
        node = schema if model is Fleet else schema["$defs"].get(model.__name__)
        if node is not None:
            _describe(model, node)
    return {"$schema": _DIALECT, "title": "llm-fleet fleet file", **schema}


def _models(root: type[FleetModel]) -> Iterator[type[FleetModel]]:
    for model in root.__subclasses__():
        yield model
        yield from _models(model)


def _describe(model: type[FleetModel], node: dict[str, Any]) -> None:
    """Add the description of each key."""
    for attribute, text in descriptions(model).items():
        if (key := model.key_of(attribute)) in node["properties"]:
            node["properties"][key]["description"] = text
    required = node.get("required", [])
    # Required keys are first, whichever base class they are from.
    node["properties"] = dict(sorted(node["properties"].items(), key=lambda entry: entry[0] not in required))


def schema_text() -> str:
    """Return the schema as in `schema/fleet.schema.json`."""
    return json.dumps(fleet_schema(), indent=2, ensure_ascii=False) + "\n"


def _with_shorthand(node: Any, short: Mapping[str, list[dict[str, Any]]]) -> Any:
    """Return `node` with the shorthand as an alternative to each reference to a mapping."""
    if isinstance(node, list):
        return [_with_shorthand(item, short) for item in cast(list[Any], node)]
    if not isinstance(node, Mapping):
        return node
    if "oneOf" in node:  # A mapping of several kinds, which share their shorthand.
        whole = cast(dict[str, Any], node)
        kinds = {key: whole[key] for key in ("oneOf", "discriminator") if key in whole}
        next_to = short.get(whole["oneOf"][0].get("$ref", ""), [])
        rest = {key: value for key, value in whole.items() if key not in kinds}
        return {**rest, "anyOf": [kinds, *next_to]} if next_to else whole
    mapping = {key: _with_shorthand(value, short) for key, value in cast(Mapping[str, Any], node).items()}
    arms = mapping.get("anyOf", [{"$ref": mapping["$ref"]}] if "$ref" in mapping else [])
    next_to = [each for arm in arms for each in short.get(arm.get("$ref", ""), [])]
    if not next_to:
        return mapping
    return {**{key: value for key, value in mapping.items() if key != "$ref"}, "anyOf": [*arms, *next_to]}


def _tidy(node: Any) -> Any:
    """Return `node` without pydantic's internals: titles, nulls, OpenAPI, defaults in other units."""
    if isinstance(node, list):
        return [_tidy(item) for item in cast(list[Any], node)]
    if not isinstance(node, Mapping):
        return node
    mapping = cast(Mapping[str, Any], node)
    tidied = {
        key: {name: _tidy(inner) for name, inner in value.items()} if key in ("properties", "$defs") else _tidy(value)
        for key, value in mapping.items()
        if key != "discriminator"
        and not (key == "title" and isinstance(value, str))
        and not (key == "default" and _misleads(mapping))
    }
    return _without_null(tidied)


def _misleads(node: Mapping[str, Any]) -> bool:
    """Return whether a user could not write the default: `None`, or a number instead of text with a unit."""
    default = node["default"]
    return (
        default is None
        or isinstance(default, list | dict)
        or (node.get("type") == "string" and not isinstance(default, str))
    )


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    arms = [arm for arm in node.get("anyOf", []) if arm.get("type") != "null"]
    if not arms or len(arms) == len(node["anyOf"]):
        return node
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    return {**arms[0], **rest} if len(arms) == 1 else {**rest, "anyOf": arms}
