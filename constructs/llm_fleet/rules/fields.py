"""Rules of single values: wrong types, and numbers outside the range of their field.

Not every user has a type checker, and a traceback would not explain the mistake.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import AnyCode, PathPart, Problem, is_unresolved
from llm_fleet.rules.values import check_number
from llm_fleet.spec.spec import Spec, Within

_PLAIN = (str, int, float, bool)
_PASSED_OVER = "${Token[wrong]}"
"""A CDK token, which rules do not check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The type that a value must have."""

    wanted: str
    """Its description in messages, e.g. `a bucket`."""
    remedy: str
    """What to write instead, in Python."""
    types: tuple[type, ...] = ()
    """The allowed types; empty for any."""
    has: tuple[str, ...] = ()
    """Attributes that it must have, for values whose class cannot be imported here."""
    optional: bool = False
    """Whether it may be `None`."""
    secret: bool = False
    """Whether it may be a secret, which no message shows."""
    code: AnyCode = Code.WRONG_TYPE
    """The error code of the problem."""

    def holds(self, value: Any) -> bool:
        """Return whether `value` is of this form; a CDK token is of every plain one."""
        if value is None:
            return self.optional
        if isinstance(value, _PLAIN) and is_unresolved(value):
            return any(type in _PLAIN for type in self.types)
        if isinstance(value, bool) and bool not in self.types:
            return False
        if self.types and not isinstance(value, self.types):
            return False
        return all(hasattr(value, name) for name in self.has)


def network_form(remedy: str, *, optional: bool = True) -> Form:
    """Return the form of a network, as the argument of a construct."""
    has = ("availability_zone_ids", "compute_subnets", "reserve_addresses")
    return Form(wanted="a network of llm-fleet", has=has, optional=optional, remedy=remedy)


def topic_form(remedy: str) -> Form:
    """Return the form of an SNS topic, as an optional argument of a construct."""
    return Form(wanted="an SNS topic", has=("topic_arn",), optional=True, remedy=remedy)


def key_form(remedy: str = 'write FleetKey(self, "Key"), or remove it') -> Form:
    """Return the form of a KMS key, as an optional argument of a construct."""
    return Form(wanted="a KMS key", has=("key_arn",), optional=True, remedy=remedy)


BUCKET = Form(wanted="a bucket", has=("bucket_arn", "bucket_name"), remedy='write DataBucket(self, "Data")')
"""A bucket, as the argument of a construct."""


def check_form(value: Any, form: Form, *path: str | int) -> list[Problem]:
    """Return a problem at `path` when `value` is not of `form`."""
    if form.holds(value):
        return []
    given = "None" if value is None else type(value).__name__
    return [
        Problem(
            code=form.code,
            message=f"this must be {form.wanted}, not {given}",
            remedy=form.remedy,
            path=path,
            value=None if form.secret else value,
            allowed=form.wanted,
        )
    ]


def check_forms(values: Mapping[str, Any], forms: Mapping[str, Form]) -> list[Problem]:
    """Return a problem for each of `values` that is not of its form."""
    return [problem for name, value in values.items() for problem in check_form(value, forms[name], name)]


def check_attributes(part: Any, forms: Mapping[str, Form]) -> list[Problem]:
    """Return a problem for each attribute of `part` that is not of its form."""
    return check_forms({name: getattr(part, name) for name in forms}, forms)


def wrong_names(problems: Collection[Problem]) -> frozenset[str]:
    """Return the attributes that `problems` are about."""
    return frozenset(str(problem.path[0]) for problem in problems)


def passing_over(part: Any, names: Collection[str]) -> Any:
    """Return `part` with CDK tokens for `names`, so that rules check only the rest; `part` itself without names."""
    return _PassingOver(part, names) if names else part


def member_of(choices: type[StrEnum], value: Any) -> Any:
    """Return the member of `choices` with this value; `value` itself when there is none."""
    try:
        return choices(value)
    except ValueError:
        return value


class _PassingOver:
    def __init__(self, part: Any, names: Collection[str]) -> None:
        self._part, self._names = part, names

    def __getattr__(self, name: str) -> Any:
        return _PASSED_OVER if name in self._names else getattr(self._part, name)


def check_is_spec(given: Any, spec: type[Spec], name: str) -> list[Problem]:
    """Return a problem at the argument `name` of a construct unless `given` is a `spec`."""
    return check_form(given, Form(wanted=f"a {spec.__name__}", remedy=f"write {spec.in_python()}", types=(spec,)), name)


def check_fields(spec: Spec) -> list[Problem]:
    """Return a problem for each number of `spec`, and of the descriptions in it, outside its field's `Within`."""
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
    """Return the field's own remedy for a number outside its range; empty for the default remedy."""
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
