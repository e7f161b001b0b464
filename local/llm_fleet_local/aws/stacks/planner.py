"""Computes the changes of an update without making them.

Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-updating-stacks-update-behaviors.html
(2026-11)
"""

from collections.abc import Mapping
from typing import Any

from llm_fleet_local.aws.resource_provider import PredictsReplacements, ResourceProvider
from llm_fleet_local.aws.stacks.change_set import Change, PropertyChange
from llm_fleet_local.aws.stacks.definition import Definition
from llm_fleet_local.aws.stacks.scope import StackScope
from llm_fleet_local.aws.stacks.stack import Stack, StackResource
from llm_fleet_local.aws.template.document import Declaration
from llm_fleet_local.aws.template.functions import evaluate
from llm_fleet_local.aws.template.values import TemplateError, as_text, contains_unknown


def plan(stack: Stack, target: Definition, scope: StackScope, provider: ResourceProvider) -> tuple[Change, ...]:
    """Return a change for each resource that would be added, modified or removed, in the order of deployment.

    Raises `TemplateError` if the template cannot be evaluated or changes the type of a resource.
    """
    changes: list[Change] = []
    for logical_id in target.live.order:
        declaration = target.live.resources[logical_id]
        properties = evaluate(declaration.properties, scope)
        existing = stack.resources.get(logical_id)
        if existing is None or not existing.physical_id:
            scope.new.add(logical_id)
            changes.append(_added(declaration, properties))
            continue
        change = _modified(existing, declaration, properties, stack, target, provider)
        if change is not None:
            (scope.new if change.replacement == "True" else scope.changed).add(logical_id)
            changes.append(change)
    changes += [_removed(resource) for name, resource in stack.resources.items() if name not in target.live.resources]
    return tuple(changes)


def outputs_change(stack: Stack, target: Definition, scope: StackScope) -> bool:
    """Return whether the outputs would differ; call it after `plan`, with the same scope."""
    after: dict[str, Any] = {
        key: (evaluate(body["Value"], scope), body.get("Description"), evaluate(body.get("Export"), scope))
        for key, body in target.live.outputs.items()
    }
    if any(contains_unknown([value, export]) for value, _, export in after.values()):
        return True
    before = {output.key: (output.value, output.description, output.export_name) for output in stack.outputs}
    return before != {
        key: (as_text(value), description, export["Name"] if export else None)
        for key, (value, description, export) in after.items()
    }


def _added(declaration: Declaration, properties: Mapping[str, Any]) -> Change:
    return Change(
        action="Add",
        logical_id=declaration.logical_id,
        resource_type=declaration.resource_type,
        after=properties,
    )


def _removed(resource: StackResource) -> Change:
    return Change(
        action="Remove",
        logical_id=resource.logical_id,
        resource_type=resource.resource_type,
        physical_id=resource.physical_id,
        policy_action="Retain" if resource.deletion_policy.startswith("Retain") else "Delete",
        before=resource.properties,
    )


def _modified(
    existing: StackResource,
    declaration: Declaration,
    properties: Mapping[str, Any],
    stack: Stack,
    target: Definition,
    provider: ResourceProvider,
) -> Change | None:
    # Source: recorded aws/aws-sam-cli#6786, text of the error (2024-03-06)
    if existing.resource_type != declaration.resource_type:
        raise TemplateError(
            f"Update of resource type is not permitted. The new template modifies resource type of the following "
            f"resources: [{declaration.logical_id}]"
        )
    details = [*_property_changes(existing, properties, provider), *_other_changes(existing, declaration)]
    if dict(stack.definition.tags) != dict(target.tags):
        details.append(PropertyChange(attribute="Tags"))
    if not details:
        return None
    replacement = _replacement(details)
    return Change(
        action="Modify",
        logical_id=declaration.logical_id,
        resource_type=declaration.resource_type,
        physical_id=existing.physical_id,
        replacement=replacement,
        policy_action=_policy_action(replacement, declaration),
        details=tuple(details),
        before=existing.properties,
        after=properties,
    )


def _property_changes(
    existing: StackResource, properties: Mapping[str, Any], provider: ResourceProvider
) -> list[PropertyChange]:
    fixed = (
        provider.replacing(existing.resource_type, existing.properties, properties)
        if isinstance(provider, PredictsReplacements)
        else frozenset[str]()
    )
    changes: list[PropertyChange] = []
    for name in dict.fromkeys((*existing.properties, *properties)):
        before, after = existing.properties.get(name), properties.get(name)
        if before == after:
            continue
        dynamic = contains_unknown(after)
        recreation = "Never" if name not in fixed else "Conditionally" if dynamic else "Always"
        changes.append(
            PropertyChange(
                attribute="Properties", name=name, before=before, after=after, dynamic=dynamic, recreation=recreation
            )
        )
    return changes


def _other_changes(existing: StackResource, declaration: Declaration) -> list[PropertyChange]:
    pairs = (
        ("Metadata", existing.metadata, declaration.metadata),
        ("DeletionPolicy", existing.deletion_policy, declaration.deletion_policy),
        ("UpdateReplacePolicy", existing.update_replace_policy, declaration.update_replace_policy),
    )
    return [
        PropertyChange(attribute=attribute, before=before, after=after)
        for attribute, before, after in pairs
        if before != after
    ]


def _replacement(details: list[PropertyChange]) -> str:
    wanted = {detail.recreation for detail in details}
    return "True" if "Always" in wanted else "Conditional" if "Conditionally" in wanted else "False"


def _policy_action(replacement: str, declaration: Declaration) -> str | None:
    if replacement == "False":
        return None
    return "ReplaceAndRetain" if declaration.update_replace_policy.startswith("Retain") else "ReplaceAndDelete"
