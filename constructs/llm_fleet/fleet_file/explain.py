"""Converts pydantic's errors into problems, with the user's keys."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, Literal, cast, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from llm_fleet.fleet_file.fleet import Fleet, network_of_services
from llm_fleet.fleet_file.schema import descriptions
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import PathPart, Problem, as_yaml
from llm_fleet.rules.values import OutOfRange, did_you_mean, nearest
from llm_fleet.spec.model import KIND, FleetModel, bare, field_at, kinds_at, metadata_of, model_at, without_kinds
from llm_fleet.spec.spec import unit_at
from llm_fleet.spec.values import InFile

_REPORTING = {
    "queues": "parallelcluster",
    "head": "parallelcluster",
    "image": "container",
    "version": "smp",
    "program": "conda",
    "packages": "wheels",
    "groups": "hyperpod",
}
"""The kind, by a key that only this kind has."""

_OTHER_WORDS = {
    "pcluster": "parallelcluster",
    "aws-parallelcluster": "parallelcluster",
    "pc": "parallelcluster",
    "sagemaker": "hyperpod",
    "sagemaker-hyperpod": "hyperpod",
    "text-generation-inference": "tgi",
    "tgi-neuron": "tgi",
    "neuronx-tgi": "tgi",
    "vllm": "hugging-face-vllm",
    "hf-vllm": "hugging-face-vllm",
    "huggingface-vllm": "hugging-face-vllm",
    "optimum-neuron": "hugging-face-vllm",
    "nxdi": "aws-vllm",
    "nxd-inference": "aws-vllm",
    "vllm-neuron": "aws-vllm-neuron",
    "venv": "wheels",
    "pip": "wheels",
    "docker": "container",
    "enroot": "container",
    "sqsh": "container",
    "nxd": "neuron",
    "neuronx": "neuron",
    "mamba": "conda",
}
"""Common words for a kind that has another name here."""


def likely_kind(mapping: Mapping[str, object], kinds: Collection[str]) -> str:
    """Return the most likely of `kinds` for a mapping with an invalid `kind`: by the word there, otherwise by its
    keys."""
    written = str(mapping.get(KIND, ""))
    word = _OTHER_WORDS.get(written.casefold(), "")
    if word in kinds:
        return word
    by_key = (kind for key, kind in _REPORTING.items() if key in mapping and kind in kinds)
    return nearest(written, kinds) or next(by_key, next(iter(kinds)))


_TYPES: Mapping[str, tuple[str, str]] = {
    "int_type": ("a whole number", "write a whole number without quotes, e.g. `4`"),
    "int_from_float": ("a whole number", "write a whole number without quotes, e.g. `4`"),
    "float_type": ("a number", "write a number without quotes, e.g. `4.5`"),
    "string_type": ("text", "put the value in quotes if it is meant as text"),
    "bool_type": ("true or false", "write `true` or `false` without quotes"),
    "dict_type": ("a mapping of keys to values", "write `key: value` pairs, indented under this key"),
    "model_attributes_type": ("a mapping of keys to values", "write `key: value` pairs, indented under this key"),
    "model_type": ("a mapping of keys to values", "write `key: value` pairs, indented under this key"),
    "tuple_type": ("a list", "write the values in brackets, e.g. `[a, b]`"),
}
"""By pydantic's error type: the required type, and how to write it."""
_MAPPING_TYPES = frozenset({"dict_type", "model_attributes_type", "model_type"})


def explain(error: ErrorDetails, model: type[FleetModel] = Fleet) -> Problem:
    """Return the problem for one of pydantic's errors, by the keys of the file.

    A missing key that is misspelt in its mapping has the problem of the unknown key: `FleetError` reports it once.
    """
    error = _of_misspelling(error, model)
    path = tuple(error["loc"])
    written = without_kinds(model, path)
    special = _SPECIAL.get(error["type"])
    if special is not None:
        return special(error, model).under(*written)
    expected, remedy = _TYPES.get(error["type"], ("a value of another kind", "see `llm-fleet schema` for the format"))
    given = error["input"]
    field = field_at(model, path)
    example = field.examples[-1] if field is not None and field.examples else None
    if error["type"] in _MAPPING_TYPES and isinstance(example, str):
        remedy += f", e.g. `{path[-1]}: {example}`"
    elif error["type"] == "tuple_type" and isinstance(example, list):
        remedy = f"write the values in brackets, e.g. `{path[-1]}: {_flow(example)}`"
    key = f"`{written[-1]}`" if written and isinstance(written[-1], str) else "this"
    problem = Problem(
        code=Code.WRONG_TYPE,
        message=f"{key} must be {expected}, but is {_noun(given)}",
        remedy=remedy,
        value=given,
    )
    return problem.under(*written)


_FEW = 4
"""So many choices are named in a remedy."""


def in_units(problem: Problem, path: tuple[PathPart, ...], written: Any) -> Problem:
    """Return `problem` with its numbers in the units of the file, if its field has units; any other unchanged.

    `path`: that of the problem in attribute names, with the kinds of mappings. `written`: the value in the file.
    """
    quantity = unit_at(Fleet, path)
    if quantity is None or type(problem.value) is not int:
        return problem
    given = written if isinstance(written, str) else quantity.text(problem.value)
    if isinstance(problem, OutOfRange):
        return problem.written_by(quantity.text, f"`{quantity.text(problem.nearest)}`", given)
    return replace(problem, value=given)


def _missing(error: ErrorDetails, model: type[FleetModel]) -> Problem:
    field = field_at(model, tuple(error["loc"]))
    example = field.examples[-1] if field is not None and field.examples else "…"
    key = error["loc"][-1]
    siblings: Any = error["input"]
    if tuple(error["loc"]) == ("network",) and isinstance(siblings, Mapping) and "services" in siblings:
        example = network_of_services(cast("Mapping[str, Any]", siblings).get("region"))
    purpose = _purpose(model_at(model, tuple(error["loc"][:-1])), key)
    return Problem(
        code=Code.MISSING_KEY,
        message=f"`{key}` is required{f': {purpose}' if purpose else ''}",
        remedy=f"add it, e.g. `{key}: {_flow(example)}`",
    )


def _flow(example: Any) -> str:
    """Return `example` as YAML without quotes, which no text of an example needs."""
    return example if isinstance(example, str) else as_yaml(example).replace("'", "")


def _unknown(error: ErrorDetails, model: type[FleetModel]) -> Problem:
    holder = model_at(model, tuple(error["loc"][:-1])) or model
    key = str(error["loc"][-1])
    return Problem(
        code=Code.UNKNOWN_KEY,
        message=f"unknown key `{key}`",
        allowed=", ".join(holder.keys()),
        remedy=_remedy(key, holder),
        value=error["input"],
    )


def _remedy(unknown: str, holder: type[FleetModel]) -> str:
    """Return the remedy for an unknown key of `holder`."""
    keys = holder.keys()
    if unknown in holder.other_words:
        return holder.other_words[unknown]
    if holder.key_of(unknown) in keys:
        return f"write `{holder.key_of(unknown)}`"
    return did_you_mean(unknown, keys, otherwise="remove it, or use one of the allowed keys")


def _of_misspelling(error: ErrorDetails, model: type[FleetModel]) -> ErrorDetails:
    """Return the error of the unknown key whose suggestion is the missing key of `error`; without one, `error`."""
    place = tuple(error["loc"])
    siblings = cast("Mapping[str, Any]", error["input"])
    if error["type"] == "missing":
        *above, missing = place
        holder = model_at(model, tuple(above)) or model
    elif error["type"] == "union_tag_not_found":
        kinds = kinds_at(model, place)
        above, missing = [*place, likely_kind(siblings, kinds)], KIND
        holder = kinds[str(above[-1])]
    else:
        return error
    renaming = did_you_mean(str(missing), [str(missing)], otherwise="")
    known = holder.keys()
    for key, value in siblings.items():
        if key not in known and _remedy(key, holder) in (renaming, f"write `{missing}`"):
            return {**error, "type": "extra_forbidden", "loc": (*above, key), "input": value}
    return error


def _choice(error: ErrorDetails, model: type[FleetModel]) -> Problem:
    path = tuple(error["loc"])
    choices = _choices(field_at(model, path) or field_at(model, path[:-1]))
    given = error["input"]
    holder = model_at(model, path[:-1]) or model_at(model, path[:-2]) or model
    few = [f"`{choice}`" for choice in choices] if len(choices) <= _FEW else ["one of the allowed values"]
    otherwise = f"write {' or '.join(few)}"
    remedy = holder.other_words.get(str(given)) or did_you_mean(str(given), choices, otherwise=otherwise)
    return Problem(
        code=Code.NOT_A_CHOICE,
        message=_unknown_value(without_kinds(model, path)),
        allowed=", ".join(choices),
        remedy=remedy,
        value=given,
    )


def _unknown_value(path: Sequence[PathPart]) -> str:
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    return f"unknown value for `{key}`" if key else "unknown value"


def _of_validator(error: ErrorDetails, model: type[FleetModel]) -> Problem:
    """Return the problem that a validator of this package has raised."""
    context = error.get("ctx", {})
    return Problem(
        code=Code(context["code"]),
        message=context["message"],
        allowed=context["allowed"],
        remedy=context["remedy"],
        value=error["input"],
    )


def _no_kind(error: ErrorDetails, model: type[FleetModel]) -> Problem:
    kinds = kinds_at(model, tuple(error["loc"]))
    purpose = _purpose(next(iter(kinds.values())), KIND)
    return Problem(
        code=Code.MISSING_KEY,
        message=f"`{KIND}` is required: {purpose}",
        allowed=", ".join(kinds),
        remedy=f"add it, e.g. `{KIND}: {likely_kind(error['input'], kinds)}`",
        path=(KIND,),
    )


def _wrong_kind(error: ErrorDetails, model: type[FleetModel]) -> Problem:
    kinds = kinds_at(model, tuple(error["loc"]))
    given = error["input"][KIND]
    return Problem(
        code=Code.NOT_A_CHOICE,
        message=f"unknown value for `{KIND}`",
        allowed=", ".join(kinds),
        remedy=f"write `{likely_kind(error['input'], kinds)}`",
        path=(KIND,),
        value=given,
    )


_SPECIAL: Mapping[str, Callable[[ErrorDetails, type[FleetModel]], Problem]] = {
    "missing": _missing,
    "extra_forbidden": _unknown,
    "enum": _choice,
    "literal_error": _choice,
    "fleet": _of_validator,
    "union_tag_not_found": _no_kind,
    "union_tag_invalid": _wrong_kind,
}

_SENTENCE_END = re.compile(r"(?<!e\.g)\. ")

KNOWN_TYPES = frozenset({*_TYPES, *_SPECIAL})
"""Pydantic's error types with a text of our own."""


def _choices(field: FieldInfo | None) -> list[str]:
    """Return the values that a field, or an item of it, can have."""
    annotation = bare(field.annotation) if field is not None else None
    items = get_args(annotation)
    metadata = (*(field.metadata if field is not None else ()), *(each for item in items for each in metadata_of(item)))
    written = [each.of for each in metadata if isinstance(each, InFile)]
    for candidate in (*written, annotation, *map(bare, items)):
        if isinstance(candidate, type) and issubclass(candidate, Enum):
            return [str(member.value) for member in candidate]
        if get_origin(candidate) is Literal:
            return [str(word) for word in get_args(candidate)]
    return []


def _purpose(model: type[FleetModel] | None, key: Any) -> str:
    """Return the first sentence of the description of `key` of `model`."""
    if model is None:
        return ""
    by_key = {model.key_of(attribute): text for attribute, text in descriptions(model).items()}
    text = " ".join(by_key.get(str(key), "").split())
    sentence = _SENTENCE_END.split(text)[0].rstrip(".")
    return sentence[:1].lower() + sentence[1:] if sentence[1:2].islower() else sentence


def _noun(value: Any) -> str:
    for kind, noun in _NOUNS.items():
        if isinstance(value, kind):
            return noun
    return "this"


_NOUNS: Mapping[type, str] = {
    bool: "true or false",
    str: "text",
    int: "a number",
    float: "a number with a fraction",
    list: "a list",
    dict: "a mapping",
}
