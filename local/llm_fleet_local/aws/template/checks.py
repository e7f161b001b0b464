"""Finds errors in a template, which are all reported together before anything is created.

Source: model cfn-lint schemas/other/functions/getatt.json
Source: model cfn-lint schemas/other/functions/ref.json
Source: recorded localstack/localstack engine/test_references test_useful_error_when_invalid_ref (2024-05-28),
test_depends_on_with_missing_reference (2023-07-10)
Source: recorded localstack/localstack test_change_set_conditions test_missing_condition (2025-10-08)
Source: recorded localstack/localstack api/test_validations test_invalid_output_structure (2024-05-31)
Source: recorded aws/serverless-application-model#1528, "SSM Secure reference is not supported in" (2020-03-23)
Source: emulation, the few properties that take such a reference are passwords, which come from Secrets Manager here
Source: emulation, each wrong name is reported, where CloudFormation stops at the first
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from llm_fleet_local.aws.resource_provider import ResourceProvider
from llm_fleet_local.aws.template.conditions import BOOLEAN_FUNCTIONS
from llm_fleet_local.aws.template.document import Template
from llm_fleet_local.aws.template.finding import Finding
from llm_fleet_local.aws.template.functions import FUNCTIONS
from llm_fleet_local.aws.template.live import LiveTemplate
from llm_fleet_local.aws.template.references import Reference, references
from llm_fleet_local.aws.template.values import function_of

PSEUDO_PARAMETERS = frozenset(
    f"AWS::{name}"
    for name in ("AccountId", "NoValue", "NotificationARNs", "Partition", "Region", "StackId", "StackName", "URLSuffix")
)


def check_names(template: Template, provider: ResourceProvider) -> list[Finding]:
    """Return every unknown function, name, attribute and condition in `template`."""
    findings: list[Finding] = []
    for logical_id, declaration in template.resources.items():
        problems = [
            *_in_value(declaration.properties, template, provider),
            *_missing_dependencies(declaration.depends_on, template),
            *_missing_condition(declaration.condition, template),
        ]
        findings += [
            Finding(
                message=problem,
                path=f"/Resources/{logical_id}",
                logical_id=logical_id,
                resource_type=declaration.resource_type,
            )
            for problem in problems
        ]
    for name, output in template.outputs.items():
        problems = [*_in_value(output, template, provider), *_missing_condition(output.get("Condition"), template)]
        problems += [] if "Value" in output else ["an output must have a Value"]
        findings += [Finding(message=problem, path=f"/Outputs/{name}") for problem in problems]
    for name, condition in template.conditions.items():
        problems = _unknown_functions(condition, (*FUNCTIONS, *BOOLEAN_FUNCTIONS))
        findings += [Finding(message=problem, path=f"/Conditions/{name}") for problem in problems]
    return findings


def check_resources(live: LiveTemplate, provider: ResourceProvider) -> list[Finding]:
    """Return the provider's errors for the resources that will be created."""
    return [
        Finding(
            message=problem,
            path=f"/Resources/{logical_id}/Properties",
            logical_id=logical_id,
            resource_type=declaration.resource_type,
        )
        for logical_id, declaration in live.resources.items()
        for problem in provider.check(declaration.resource_type, declaration.properties)
    ]


def _missing_dependencies(names: tuple[str, ...], template: Template) -> list[str]:
    return [f"DependsOn: unknown resource {name}" for name in names if name not in template.resources]


def _missing_condition(name: str | None, template: Template) -> list[str]:
    return [] if name is None or name in template.conditions else [f"condition {name} is not declared"]


def _in_value(value: Any, template: Template, provider: ResourceProvider) -> Iterator[str]:
    yield from _unknown_functions(value, FUNCTIONS)
    for reference in dict.fromkeys(references(value)):
        yield from _unknown_name(reference, template, provider)
    for item in _objects(value):
        if function_of(item) == "Fn::If":
            yield from _missing_condition(str(item["Fn::If"][0]), template)
    if "{{resolve:ssm-secure:" in json.dumps(value, default=str):
        yield "SSM Secure reference is not supported here: use {{resolve:secretsmanager:…}}"


def _unknown_name(reference: Reference, template: Template, provider: ResourceProvider) -> Iterator[str]:
    if reference.attribute is None:
        if reference.name not in template.resources.keys() | template.parameters.keys() | PSEUDO_PARAMETERS:
            yield f"Ref: {reference.name} is neither a parameter nor a resource of this template"
        return
    declaration = template.resources.get(reference.name)
    if declaration is None:
        yield f"GetAtt: {reference.name} is not a resource of this template"
        return
    known = provider.attribute_names(declaration.resource_type)
    if known is not None and not _is_known(reference.attribute, known):
        yield (
            f"{reference.name} ({declaration.resource_type}) has no attribute {reference.attribute}; "
            f"allowed: {', '.join(sorted(known)) or '(none)'}"
        )


def _is_known(attribute: str, known: frozenset[str]) -> bool:
    below = (name[:-1] for name in known if name.endswith(".*"))
    return attribute in known or attribute == "*" or any(attribute.startswith(prefix) for prefix in below)


def _unknown_functions(value: Any, known: tuple[str, ...]) -> Iterator[str]:
    for item in _objects(value):
        name = function_of(item)
        if name is not None and name not in known:
            yield f"function {name} is not supported; allowed: {', '.join(known)}"
        if name is None and any(str(key).startswith("Fn::") for key in item):
            yield f"a function must be the only member of its object; given: {sorted(item)}"


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every object at or below `value`."""
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        yield members
        for item in members.values():
            yield from _objects(item)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _objects(item)
