"""A template with evaluated conditions: only resources that will exist, and only the chosen branches."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from llm_fleet_local.aws.template.document import Declaration, Template
from llm_fleet_local.aws.template.references import creation_order, dependencies, references
from llm_fleet_local.aws.template.values import TemplateError, function_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTemplate:
    """The content of a stack. Properties still have functions, but no `Fn::If`."""

    template: Template
    resources: Mapping[str, Declaration]
    outputs: Mapping[str, Mapping[str, Any]]
    needs: Mapping[str, tuple[str, ...]]
    order: tuple[str, ...]


def live_template(template: Template, conditions: Mapping[str, bool]) -> LiveTemplate:
    """Apply the conditions to `template`.

    Raises `TemplateError` for cycles and for references to a resource whose condition is false.
    """
    resources = {
        logical_id: replace(declaration, properties=prune(declaration.properties, conditions))
        for logical_id, declaration in template.resources.items()
        if declaration.condition is None or conditions[declaration.condition]
    }
    outputs = {
        name: prune(output, conditions)
        for name, output in template.outputs.items()
        if output.get("Condition") is None or conditions[output["Condition"]]
    }
    _reject_dead(template, resources, outputs)
    needs = dependencies(resources)
    return LiveTemplate(
        template=template, resources=resources, outputs=outputs, needs=needs, order=creation_order(needs)
    )


def prune(value: Any, conditions: Mapping[str, bool]) -> Any:
    """Return `value` with each `Fn::If` replaced by its chosen branch, and without members that are `AWS::NoValue`."""
    if function_of(value) == "Fn::If":
        name, holds, otherwise = value["Fn::If"]
        return prune(holds if conditions[name] else otherwise, conditions)
    if isinstance(value, Mapping):
        members = {key: prune(item, conditions) for key, item in cast("Mapping[str, Any]", value).items()}
        return {key: item for key, item in members.items() if not _is_no_value(item)}
    if isinstance(value, list):
        items = [prune(item, conditions) for item in cast("list[Any]", value)]
        return [item for item in items if not _is_no_value(item)]
    return value


def _is_no_value(value: Any) -> bool:
    return value == {"Ref": "AWS::NoValue"}


def _reject_dead(
    template: Template, resources: Mapping[str, Declaration], outputs: Mapping[str, Mapping[str, Any]]
) -> None:
    """Reject references to resources whose condition is false.

    Source: recorded localstack/localstack engine/test_conditions test_dependent_ref (2023-06-26),
    test_output_reference_to_skipped_resource (2023-06-27)
    """
    for section, members in (
        ("Resources", {name: r.properties for name, r in resources.items()}),
        ("Outputs", outputs),
    ):
        used = {reference.name for value in members.values() for reference in references(value)}
        dead = sorted(name for name in used & set(template.resources) if name not in resources)
        if dead:
            raise TemplateError(
                f"Template format error: Unresolved resource dependencies {dead} in the {section} block of the template"
            )
