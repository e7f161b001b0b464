"""What is wrong with a description by itself: another class, and numbers outside the range that their field has."""

from collections.abc import Mapping
from typing import Any, cast

from llm_fleet.rules.inference.forms import Form, check_form
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import check_number
from llm_fleet.spec.spec import Spec, Within


def check_is_spec(given: Any, spec: type[Spec], name: str) -> list[Problem]:
    """Return a problem at the argument `name` of a construct unless `given` is a `spec`."""
    return check_form(given, Form(wanted=f"a {spec.__name__}", remedy=f"write {spec.in_python()}", types=(spec,)), name)


def check_fields(spec: Spec) -> list[Problem]:
    """Return a problem for each number of `spec`, and of the descriptions in it, that its field's `Within` excludes."""
    found: list[Problem] = []
    for name, field in type(spec).model_fields.items():
        value: Any = getattr(spec, name)
        for within in (each for each in field.metadata if isinstance(each, Within)):
            remedy = _remedy(value, within)
            found += check_number(value, within.limit, within.code, name, what=within.what, remedy=remedy)
        if isinstance(value, Spec):
            found += [each.under(name) for each in check_fields(value)]
        for key, part in _parts(value):
            found += [each.under(name, key) for each in check_fields(part)]
    return found


def _remedy(value: Any, within: Within) -> str:
    """Return what the field itself offers for a number outside its range; nothing for the usual remedy."""
    if type(value) is not int or is_unresolved(value):
        return ""
    too_small = within.limit.minimum is not None and value < within.limit.minimum
    return within.below if too_small else within.above


def _parts(value: Any) -> list[tuple[PathPart, Spec]]:
    """Return the descriptions in a mapping or a tuple, each with its key or index."""
    entries: list[tuple[PathPart, Any]] = []
    if isinstance(value, Mapping):
        entries = list(cast("Mapping[PathPart, Any]", value).items())
    elif isinstance(value, tuple):
        entries = list(enumerate(cast("tuple[Any, ...]", value)))
    return [(key, part) for key, part in entries if isinstance(part, Spec)]
