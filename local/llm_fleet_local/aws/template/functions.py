"""CloudFormation's intrinsic functions, as the CDK emits them.

Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
(2026-11)
"""

import base64
import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from llm_fleet_local.aws.template.values import NO_VALUE, UNKNOWN, TemplateError, as_text, contains_unknown, function_of

_MOST_BLOCKS = 256
SUB_VARIABLE = re.compile(r"\$\{([^}]*)\}")


class Scope(Protocol):
    """Resolves names while a template is evaluated. Every method can return `UNKNOWN` or raise `TemplateError`."""

    def ref(self, name: str) -> Any:
        """Return a parameter's value, a pseudo parameter or a resource's physical id."""
        ...

    def attribute(self, logical_id: str, name: str) -> Any:
        """Return the value of `Fn::GetAtt`."""
        ...

    def condition(self, name: str) -> bool:
        """Return whether a condition is true."""
        ...

    def in_mapping(self, name: str, first: str, second: str) -> Any:
        """Return a value of the Mappings section; raises `KeyError` if it is missing."""
        ...

    def imported(self, export_name: str) -> Any:
        """Return a value that another stack exports."""
        ...

    def stack_output(self, stack_name: str, output_name: str, region: str | None) -> Any:
        """Return an output of another stack, exported or not."""
        ...

    def availability_zones(self, region: str) -> list[str]:
        """Return the names of a Region's AZs; an empty `region` means the stack's own."""
        ...


def evaluate(value: Any, scope: Scope) -> Any:
    """Return `value` with every function replaced by its result; members that are `AWS::NoValue` are omitted."""
    name = function_of(value)
    if name is not None:
        return _call(name, value[name], scope)
    if isinstance(value, Mapping):
        members = {key: evaluate(item, scope) for key, item in cast("Mapping[str, Any]", value).items()}
        return {key: item for key, item in members.items() if item is not NO_VALUE}
    if isinstance(value, list):
        items = [evaluate(item, scope) for item in cast("list[Any]", value)]
        return [item for item in items if item is not NO_VALUE]
    return value


def _call(name: str, argument: Any, scope: Scope) -> Any:
    if name in _LAZY:
        return _LAZY[name](argument, scope)
    # Source: model cfn-lint schemas/other/functions
    # Source: emulation, functions of transforms are not supported
    if name not in _EAGER:
        raise TemplateError(f"Template error: function {name} is not supported; allowed: {', '.join(FUNCTIONS)}")
    arguments = evaluate(argument, scope)
    if contains_unknown(arguments):
        return UNKNOWN
    try:
        return _EAGER[name](arguments, scope)
    except (ValueError, TypeError, IndexError, KeyError) as error:
        raise TemplateError(f"Template error: {name} cannot use {argument!r}: {error}") from error


def _if(argument: Any, scope: Scope) -> Any:
    # Source: model cfn-lint schemas/other/functions/if.json
    if not isinstance(argument, list) or len(cast("list[Any]", argument)) != 3:
        raise TemplateError("Template error: Fn::If requires a list argument with three elements")
    condition, holds, otherwise = cast("list[Any]", argument)
    return evaluate(holds if scope.condition(condition) else otherwise, scope)


def _sub(argument: Any, scope: Scope) -> Any:
    text = argument if isinstance(argument, str) else argument[0]
    variables: dict[str, Any] = {} if isinstance(argument, str) else evaluate(argument[1], scope)
    pieces: list[Any] = []

    def look_up(match: re.Match[str]) -> str:
        name = match[1].strip()
        if name.startswith("!"):
            return f"${{{name[1:]}}}"
        pieces.append(variables[name] if name in variables else _named(name, scope))
        return as_text(pieces[-1])

    result = SUB_VARIABLE.sub(look_up, text)
    return UNKNOWN if contains_unknown(pieces) else result


def _named(name: str, scope: Scope) -> Any:
    logical_id, dot, attribute = name.partition(".")
    return scope.attribute(logical_id, attribute) if dot else scope.ref(name)


def split_get_att(argument: Any) -> tuple[str, Any]:
    """Return logical id and attribute of both forms of `Fn::GetAtt`; the attribute can still be a function.

    Source: model cfn-lint schemas/other/functions/getatt.json
    Source: recorded localstack/localstack test_change_set_fn_get_attr test_invalid_structure (2025-10-08)
    """
    if isinstance(argument, str) and "." in argument:
        logical_id, _, attribute = argument.partition(".")
        return logical_id, attribute
    if isinstance(argument, list) and len(cast("list[Any]", argument)) == 2:
        logical_id, attribute = cast("list[Any]", argument)
        return str(logical_id), attribute
    raise TemplateError(f"Template error: Fn::GetAtt takes [logical id, attribute], not {argument!r}")


def _get_att(argument: Any, scope: Scope) -> Any:
    logical_id, attribute = split_get_att(argument)
    return scope.attribute(logical_id, evaluate(attribute, scope))


def _find_in_map(argument: Any, scope: Scope) -> Any:
    """Return a value of the Mappings section; a default value requires a transform, which is not supported here.

    Source: document
    https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-findinmap-enhancements.html:
    "Default value support" is one of the "enhancements" of the AWS::LanguageExtensions transform
    Source: recorded aws/aws-cdk#27987, text of the error about three parameters (2023-11-14)
    Source: recorded localstack/localstack engine/test_mappings test_mapping_with_nonexisting_key (2023-06-12)
    """
    if not isinstance(argument, list) or len(cast("list[Any]", argument)) != 3:
        raise TemplateError(
            "Template error: every Fn::FindInMap object requires three parameters, the map name, map key and the "
            f"attribute for return value, not {argument!r}"
        )
    name, first, second = cast("list[Any]", argument)
    try:
        return scope.in_mapping(name, as_text(first), as_text(second))
    except KeyError:
        raise TemplateError(f"Template error: Unable to get mapping for {name}::{first}::{second}") from None


def _cidr(argument: Any, _: Scope) -> list[str]:
    """Split a block of addresses into blocks.

    Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-cidr.html:
    count is "the number of CIDRs to generate. Valid range is between 1 and 256."
    """
    block, count, *bits = argument
    if not 1 <= int(count) <= _MOST_BLOCKS:
        raise TemplateError(f"Template error: Fn::Cidr creates 1 to {_MOST_BLOCKS} blocks, not {count}")
    network = ipaddress.ip_network(block, strict=False)
    prefix = network.max_prefixlen - int(bits[0] if bits else 8)
    subnets = network.subnets(new_prefix=prefix)
    wanted = [str(subnet) for subnet, _ in zip(subnets, range(int(count)), strict=False)]
    if len(wanted) < int(count):
        raise TemplateError(f"Template error: Fn::Cidr cannot create {count} blocks of /{prefix} from {block}")
    return wanted


def _select(argument: Any, _: Scope) -> Any:
    # Source: document
    # https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-select.html:
    # an index "out of bounds of the array" will "result in a stack error"
    # Source: recorded aws-samples/1click-hpc#1, text of the error (2021-04-01)
    index, items = argument
    if not 0 <= int(index) < len(items):
        raise TemplateError(f"Template error: Fn::Select cannot select nonexistent value at index {index}")
    return items[int(index)]


def _stack_output(argument: Any, scope: Scope) -> Any:
    # Source: emulation, it has one account
    if argument.get("RoleArn"):
        raise TemplateError("Template error: Fn::GetStackOutput with a RoleArn (another account) is not supported")
    return scope.stack_output(argument["StackName"], argument["OutputName"], argument.get("Region"))


_LAZY: dict[str, Callable[[Any, Scope], Any]] = {
    "Ref": lambda argument, scope: NO_VALUE if argument == "AWS::NoValue" else scope.ref(argument),
    "Fn::If": _if,
    "Fn::Sub": _sub,
    "Fn::GetAtt": _get_att,
}
_EAGER: dict[str, Callable[[Any, Scope], Any]] = {
    "Fn::Join": lambda argument, _: argument[0].join(map(as_text, argument[1])),
    "Fn::Select": _select,
    "Fn::Split": lambda argument, _: as_text(argument[1]).split(argument[0]),
    "Fn::FindInMap": _find_in_map,
    "Fn::Base64": lambda argument, _: base64.b64encode(as_text(argument).encode()).decode(),
    "Fn::Cidr": _cidr,
    "Fn::GetAZs": lambda argument, scope: scope.availability_zones(argument),
    "Fn::ImportValue": lambda argument, scope: scope.imported(argument),
    "Fn::GetStackOutput": _stack_output,
}
FUNCTIONS = (*_LAZY, *_EAGER)
"""The names of all functions that are allowed in a property or an output."""
