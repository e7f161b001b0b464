"""References in a template, and the order in which resources can be created."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any, cast

from llm_fleet_local.aws.template.document import Declaration
from llm_fleet_local.aws.template.functions import SUB_VARIABLE, split_get_att
from llm_fleet_local.aws.template.values import TemplateError, function_of


@dataclass(frozen=True, slots=True)
class Reference:
    """A name that a template uses: `attribute` is `None` for a Ref."""

    name: str
    attribute: str | None = None


def references(value: Any) -> Iterator[Reference]:
    """Yield every Ref, GetAtt and Sub variable below `value`."""
    function = function_of(value)
    if function == "Ref":
        yield Reference(value["Ref"])
    elif function == "Fn::GetAtt":
        logical_id, attribute = split_get_att(value[function])
        yield Reference(logical_id, attribute if isinstance(attribute, str) else "*")
        yield from references(attribute)
    elif function == "Fn::Sub":
        yield from _in_sub(value[function])
    elif isinstance(value, Mapping):
        for item in cast("Mapping[str, Any]", value).values():
            yield from references(item)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from references(item)


def _in_sub(argument: Any) -> Iterator[Reference]:
    text = argument if isinstance(argument, str) else argument[0]
    variables: Mapping[str, Any] = {} if isinstance(argument, str) else argument[1]
    for match in SUB_VARIABLE.finditer(text):
        name = match[1].strip()
        if name not in variables and not name.startswith("!"):
            logical_id, dot, attribute = name.partition(".")
            yield Reference(logical_id, attribute if dot else None)
    yield from references(variables)


def dependencies(resources: Mapping[str, Declaration]) -> dict[str, tuple[str, ...]]:
    """Return the dependencies of each resource, from references and DependsOn."""
    found: dict[str, tuple[str, ...]] = {}
    for logical_id, declaration in resources.items():
        named = (*declaration.depends_on, *(reference.name for reference in references(declaration.properties)))
        found[logical_id] = tuple(dict.fromkeys(name for name in named if name in resources))
    return found


def creation_order(needs: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the resources in an order in which each is after its dependencies. Raises `TemplateError` for a cycle.

    Source: recorded aws/serverless-application-model#1044, text of the error (2019-07-26)
    """
    try:
        return tuple(TopologicalSorter(needs).static_order())
    except CycleError as error:
        cycle = list(dict.fromkeys(error.args[1]))
        raise TemplateError(f"Circular dependency between resources: [{', '.join(cycle)}]") from error
