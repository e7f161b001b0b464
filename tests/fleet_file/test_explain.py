"""For any content of a fleet file, errors have llm-fleet's messages, not pydantic's."""

from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from llm_fleet.fleet_file.document import Document, parse
from llm_fleet.fleet_file.explain import KNOWN_TYPES
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.load import Draft
from llm_fleet.rules.codes import Code
from llm_fleet.spec.model import Later

ROOT = Path(__file__).parents[2]
FULL = [
    ROOT / "examples/hyperpod-full.yaml",
    ROOT / "examples/hyperpod-existing-network.yaml",
    ROOT / "examples/parallelcluster-full.yaml",
    ROOT / "tests/data/good/lustre-tiering.yaml",
]
WRONG: list[Any] = [True, 4, -1, 4.5, 10**17, "", "x", "\u0000", "4", "none", "2026-12-01", [], [1], [[]], {}, {"x": 1}]
FOREIGN = ("pydantic", "input should", "valid string", "valid integer", "dictionary", "tuple", "literal", "validation")
FORM_CODES = {
    Code.UNKNOWN_KEY,
    Code.MISSING_KEY,
    Code.WRONG_TYPE,
    Code.NOT_A_CHOICE,
    Code.QUANTITY,
    Code.TEXT_FORM,
}

REQUIRED = ("fleet", "region", "network")

Path_ = tuple[str | int, ...]


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Yield the path of every value except the document itself."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield from places(inner, (*path, str(key)))  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list):
        for index, inner in enumerate(value):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            yield from places(inner, (*path, index))


def replaced(values: Any, path: Path_, wrong: Any) -> Any:
    """Return `values` with `wrong` at `path`. Only its parents are copied; `values` is not changed."""
    if not path:
        return wrong
    changed = copy(values)
    changed[path[0]] = replaced(values[path[0]], path[1:], wrong)
    return changed


def around(values: Any, path: Path_) -> Any:
    """Return the smallest fleet with `path`: other sections and entries do not affect its structure."""
    needed = {key: value for key, value in values.items() if key in (*REQUIRED, path[0])}
    if path[0] in ("clusters", "storage") and len(path) > 1:
        needed[path[0]] = {path[1]: needed[path[0]][path[1]]}
    return needed


@pytest.mark.parametrize("file", FULL, ids=lambda file: file.name)
def test_no_error_text_contains_words_of_pydantic(file: Path) -> None:
    values = parse(file.read_text(), subject=str(file)).data
    tried = reported = 0
    for path in places(values):
        fleet = around(values, path)
        for wrong in WRONG:
            tried += 1
            built = Draft(Document(data=replaced(fleet, path, wrong), places={}))
            assert built.fleet is not None, f"{path} = {wrong!r} cannot be repaired"
            for problem in built.problems:
                reported += 1
                text = f"{problem.message} {problem.allowed} {problem.remedy}".lower()
                assert not any(word in text for word in FOREIGN), f"{path} = {wrong!r}: {text}"
                assert problem.code in FORM_CODES, f"{path} = {wrong!r}: {problem}"
                assert problem.path[: len(path)] == path
                assert problem.remedy
    assert tried > 100
    assert reported > tried / 2


def test_every_error_type_that_the_models_can_raise_has_a_message() -> None:
    possible = {error for kind in _schema_types(Fleet.__pydantic_core_schema__) for error in _ERRORS[kind]}
    assert possible - set(KNOWN_TYPES) == set()


_ERRORS: dict[str, set[str]] = {
    "any": set(),
    "bool": {"bool_type"},
    "datetime": set(),  # Only for fields that the fleet file does not have.
    "default": set(),
    "definition-ref": set(),
    "definitions": set(),
    "dict": {"dict_type"},
    "enum": {"enum"},
    "function-after": set(),
    "function-before": {"fleet"},
    "function-plain": {"fleet"},
    "int": {"int_type", "int_from_float"},
    "json-or-python": set(),
    "literal": {"literal_error"},
    "model": {"model_type"},
    "model-field": {"missing"},
    "model-fields": {"extra_forbidden", "model_type", "model_attributes_type"},
    "no-info": set(),
    "nullable": set(),
    "with-info": set(),
    "str": {"string_type"},
    "float": {"float_type"},
    "tagged-union": {"union_tag_not_found", "union_tag_invalid"},
    "tuple": {"tuple_type"},
    "dataclass": set(),
    "dataclass-args": set(),
    "dataclass-field": set(),
}
"""The errors that each kind of pydantic-core's schema can raise in strict JSON. A missing kind fails the test."""


def _schema_types(schema: Any) -> set[str]:
    found: set[str] = set()
    if isinstance(verify := getattr(schema, "__self__", None), Later):
        return _schema_types(TypeAdapter(verify.type).core_schema)
    if isinstance(schema, dict):
        kind = schema.get("type")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if isinstance(kind, str):
            found.add(kind)
        for key, inner in schema.items():  # pyright: ignore[reportUnknownVariableType]
            if key not in ("metadata", "serialization", "config", "default", "ref", "python_schema"):
                found |= _schema_types(inner)
    elif isinstance(schema, list | tuple):
        for inner in schema:  # pyright: ignore[reportUnknownVariableType]
            found |= _schema_types(inner)
    return found
