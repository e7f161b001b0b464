"""Resolves template parameters from given values, defaults and constraints.

Source: model cfn-lint schemas/other/parameters/configuration.json
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llm_fleet_local.aws.template.lookups import Lookups
from llm_fleet_local.aws.template.values import TemplateError, as_text

_SSM_VALUE = re.compile(r"AWS::SSM::Parameter::Value<(?P<inner>.+)>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a stack: the given value, and the result of Ref."""

    name: str
    given: str
    value: Any
    """A string, or a list of strings for list types."""
    from_ssm: bool = False
    no_echo: bool = False


def resolve_parameters(
    declared: Mapping[str, Mapping[str, Any]],
    given: Mapping[str, str],
    *,
    region: str,
    lookups: Lookups,
) -> dict[str, Parameter]:
    """Return every declared parameter with its value.

    Raises `TemplateError` for undeclared parameters, missing values, and values outside their constraints.

    Source: recorded aws-samples/amazon-ec2-image-builder-samples#18, text for an undeclared one (2021-05-11)
    Source: recorded localstack/localstack api/test_stacks test_no_parameters_given (2025-07-31)
    """
    undeclared = sorted(set(given) - set(declared))
    if undeclared:
        raise TemplateError(f"Parameters: {undeclared} do not exist in the template")
    missing = sorted(name for name, spec in declared.items() if name not in given and "Default" not in spec)
    if missing:
        raise TemplateError(f"Parameters: {missing} must have values")
    resolved: dict[str, Parameter] = {}
    for name, spec in declared.items():
        text = as_text(given.get(name, spec.get("Default")))
        _check(name, text, spec)
        resolved[name] = _resolve(name, text, spec, region, lookups)
    return resolved


def _resolve(name: str, text: str, spec: Mapping[str, Any], region: str, lookups: Lookups) -> Parameter:
    kind = spec.get("Type", "String")
    ssm = _SSM_VALUE.fullmatch(kind)
    raw = lookups.ssm_parameter(region, text) if ssm else text
    inner = ssm["inner"] if ssm else kind
    is_list = inner == "CommaDelimitedList" or inner.startswith("List<")
    return Parameter(
        name=name,
        given=text,
        value=[item.strip() for item in raw.split(",")] if is_list else raw,
        from_ssm=ssm is not None,
        no_echo=as_text(spec.get("NoEcho", False)) == "true",
    )


def _check(name: str, text: str, spec: Mapping[str, Any]) -> None:
    """Reject a value that its declaration does not allow.

    Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html:
    "AllowedPattern", "AllowedValues", "ConstraintDescription"
    """
    allowed = [as_text(value) for value in spec.get("AllowedValues", [])]
    items = [item.strip() for item in text.split(",")] if "List" in spec.get("Type", "String") else [text]
    if allowed and not set(items) <= set(allowed):
        raise TemplateError(f"Parameter '{name}' must be one of AllowedValues {allowed}, not {text!r}")
    pattern = spec.get("AllowedPattern")
    if pattern and not all(re.fullmatch(pattern, item) for item in items):
        raise TemplateError(
            spec.get("ConstraintDescription") or f"Parameter '{name}' must match pattern {pattern}, not {text!r}"
        )
    _check_range(name, len(text), "length", spec.get("MinLength"), spec.get("MaxLength"))
    if spec.get("Type") in ("Number", "List<Number>"):
        for item in items:
            _check_range(name, _number(name, item), "value", spec.get("MinValue"), spec.get("MaxValue"))


def _number(name: str, text: str) -> float:
    # Source: recorded localstack/localstack test_change_set_parameters test_invalid_parameter_type
    # (2025-10-06)
    try:
        return float(text)
    except ValueError:
        raise TemplateError(f"Parameter '{name}' must be a number, not {text!r}") from None


def _check_range(name: str, amount: float, what: str, least: Any, most: Any) -> None:
    # Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html:
    # "MaxLength", "MaxValue", "MinLength", "MinValue"
    if least is not None and amount < float(least):
        raise TemplateError(f"Parameter '{name}' must have a {what} of at least {least}")
    if most is not None and amount > float(most):
        raise TemplateError(f"Parameter '{name}' must have a {what} of at most {most}")
