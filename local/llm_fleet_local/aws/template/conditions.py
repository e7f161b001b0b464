"""Conditions and rules: functions that return true or false.

Source: model cfn-lint schemas/other/conditions/conditions.json
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from llm_fleet_local.aws.template.functions import Scope, evaluate
from llm_fleet_local.aws.template.values import TemplateError, as_text, function_of


def holds(expression: Any, scope: Scope) -> bool:
    """Evaluate a condition or an assertion. Raises `TemplateError` for other expressions."""
    name = _name(expression)
    if name == "Condition":
        return scope.condition(expression[name])
    if name is None or name not in _BOOLEAN:
        raise TemplateError(f"Template error: {expression!r} is not a condition; allowed: {', '.join(_BOOLEAN)}")
    return _BOOLEAN[name](expression[name], scope)


def _name(expression: Any) -> str | None:
    if isinstance(expression, Mapping) and list(cast("Mapping[str, Any]", expression)) == ["Condition"]:
        return "Condition"
    return function_of(expression)


def _equals(argument: Any, scope: Scope) -> bool:
    left, right = evaluate(argument, scope)
    if isinstance(left, (list, dict)) or isinstance(right, (list, dict)):
        return left == right
    return as_text(left) == as_text(right)


def _contains(argument: Any, scope: Scope) -> bool:
    items, wanted = evaluate(argument, scope)
    return as_text(wanted) in [as_text(item) for item in items]


def _each_member_equals(argument: Any, scope: Scope) -> bool:
    items, wanted = evaluate(argument, scope)
    return all(as_text(item) == as_text(wanted) for item in items)


def _each_member_in(argument: Any, scope: Scope) -> bool:
    items, allowed = evaluate(argument, scope)
    return {as_text(item) for item in items} <= {as_text(item) for item in allowed}


_BOOLEAN: dict[str, Callable[[Any, Scope], bool]] = {
    "Fn::Equals": _equals,
    "Fn::And": lambda argument, scope: all(holds(item, scope) for item in argument),
    "Fn::Or": lambda argument, scope: any(holds(item, scope) for item in argument),
    "Fn::Not": lambda argument, scope: not holds(argument[0], scope),
    "Fn::Contains": _contains,
    "Fn::EachMemberEquals": _each_member_equals,
    "Fn::EachMemberIn": _each_member_in,
}
BOOLEAN_FUNCTIONS = tuple(_BOOLEAN)


def broken_rules(rules: Mapping[str, Any], scope: Scope) -> list[str]:
    """Return the assertions of the Rules section that the parameters do not meet."""
    broken: list[str] = []
    for name, rule in rules.items():
        if "RuleCondition" in rule and not holds(rule["RuleCondition"], scope):
            continue
        broken += [
            f"rule {name}: {assertion.get('AssertDescription', 'assertion failed')}"
            for assertion in rule.get("Assertions", [])
            if not holds(assertion["Assert"], scope)
        ]
    return broken
