"""Every field of every spec reports a value of a wrong type at its path, in one problem.

No table lists the fields: they are those of the classes of `spec/`. The accepted types are read from the annotation.
"""

import importlib
import pkgutil
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Union, get_args, get_origin

import pytest

from llm_fleet import spec as descriptions
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError, Problem
from llm_fleet.spec.spec import Spec

VALUES: tuple[Any, ...] = (None, True, 7, 1.5, "text", b"x", object(), ["a"])


def all_specs(parent: type[Spec] = Spec) -> Iterator[type[Spec]]:
    for child in parent.__subclasses__():
        yield child
        yield from all_specs(child)


for module in pkgutil.iter_modules(descriptions.__path__):
    importlib.import_module(f"{descriptions.__name__}.{module.name}")
FIELDS = [
    pytest.param(spec, name, id=f"{spec.__name__}.{name}")
    for spec in sorted(set(all_specs()), key=lambda spec: spec.__qualname__)
    if spec.__module__.startswith(descriptions.__name__)
    for name in spec.model_fields
]


SECRETS = [field for field in FIELDS if re.search("secret(_arn)?$", str(field.values[1]))]


def accepted(annotation: Any) -> set[Any]:
    """Return the classes of values that a field with this annotation accepts."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return accepted(arguments[0])
    if origin in (Union, types.UnionType):
        return set[Any]().union(*map(accepted, arguments))
    if annotation is float:
        return {float, int}
    return {origin or annotation}


def problems_of(spec: type[Spec], name: str, value: Any) -> list[Problem]:
    """Return the problems of the field with `value`; the other fields are reported as missing."""
    with pytest.raises(FleetError) as rejected:
        spec(**{name: value})
    return [problem for problem in rejected.value.problems if problem.path[:1] == (name,)]


@pytest.mark.parametrize(("spec", "name"), FIELDS)
def test_a_value_of_another_type_is_one_problem_at_its_field(spec: type[Spec], name: str) -> None:
    classes = accepted(spec.model_fields[name].annotation)
    listed = bool(classes & {Sequence, tuple})
    annotation = str(spec.model_fields[name].annotation)
    items_known, values_known = "Sequence[typing.Any]" not in annotation, ", typing.Any]" not in annotation
    if Any not in classes:
        for value in VALUES:
            if type(value) not in classes and not (listed and isinstance(value, list)):
                (problem,) = problems_of(spec, name, value)
                assert problem.code in (Code.WRONG_TYPE, Code.NOT_A_CHOICE), (value, problem)
                assert problem.remedy.startswith(("write ", "give ")), (value, problem)
    if listed and items_known:
        assert problems_of(spec, name, [object()])[0].path[1] == 0
    if Mapping in classes and values_known:
        assert problems_of(spec, name, {"a": object()})[0].path[1] == "a"


@pytest.mark.parametrize(("spec", "name"), SECRETS)
def test_a_text_in_place_of_a_secret_is_not_repeated(spec: type[Spec], name: str) -> None:
    with pytest.raises(FleetError) as rejected:
        spec(**{name: "hunter2"})
    assert "hunter2" not in str(rejected.value)
    (problem,) = [problem for problem in rejected.value.problems if problem.path == (name,)]
    assert (problem.code, problem.value) == (Code.TEXT_FORM, None)
