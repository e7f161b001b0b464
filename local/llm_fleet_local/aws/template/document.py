"""Parses a template in JSON or YAML into sections and declarations."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import yaml

from llm_fleet_local.aws.template.policies import check_policies
from llm_fleet_local.aws.template.values import TemplateError

_SECTIONS = frozenset(
    (
        "AWSTemplateFormatVersion",
        "Description",
        "Metadata",
        "Parameters",
        "Mappings",
        "Conditions",
        "Rules",
        "Resources",
        "Outputs",
    )
)
_RESOURCE_KEYS = frozenset(
    (
        "Type",
        "Properties",
        "DependsOn",
        "Condition",
        "DeletionPolicy",
        "UpdateReplacePolicy",
        "Metadata",
        "CreationPolicy",
        "UpdatePolicy",
    )
)
_MEMBER_KEYS = {
    "Parameters": frozenset(
        (
            *("Type", "Default", "Description", "NoEcho", "ConstraintDescription", "AllowedValues", "AllowedPattern"),
            *("MinLength", "MaxLength", "MinValue", "MaxValue"),
        )
    ),
    "Outputs": frozenset(("Value", "Description", "Export", "Condition")),
}
_PARAMETER_TYPE = re.compile(
    r"String|Number|List<Number>|CommaDelimitedList|(List<)?AWS::(EC2|Route53)::[\w:]+>?"
    r"|AWS::SSM::Parameter::(Name|Value<.+>)"
)
_LOGICAL_ID = re.compile(r"[A-Za-z0-9]{1,255}")
_DELETION_POLICIES = ("Delete", "Retain", "RetainExceptOnCreate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """One resource as declared in the template."""

    logical_id: str
    resource_type: str
    properties: Mapping[str, Any]
    depends_on: tuple[str, ...] = ()
    condition: str | None = None
    deletion_policy: str = "Delete"
    update_replace_policy: str = "Delete"
    metadata: Any = None
    creation_policy: Mapping[str, Any] | None = None
    update_policy: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A parsed template. `body` is the text as submitted."""

    body: str
    resources: Mapping[str, Declaration]
    parameters: Mapping[str, Mapping[str, Any]]
    mappings: Mapping[str, Any]
    conditions: Mapping[str, Any]
    rules: Mapping[str, Any]
    outputs: Mapping[str, Mapping[str, Any]]
    description: str | None = None
    metadata: Any = None


EMPTY = Template(body="{}", resources={}, parameters={}, mappings={}, conditions={}, rules={}, outputs={})


def parse_template(body: str) -> Template:
    """Read a template's text.

    Raises `TemplateError` for text that is neither JSON nor YAML, unknown sections, transforms, and resource
    attributes that this engine does not support (the `Snapshot` deletion policy).

    Source: model cfn-lint schemas/other/template/configuration.json
    Source: recorded localstack/localstack api/test_validations test_missing_resources_block (2024-05-31)
    Source: emulation, there are no macros here
    """
    document = _load(body)
    if "Transform" in document:
        raise TemplateError(f"Transform {document['Transform']} is not supported: the AWS emulator has no macros")
    unknown = sorted(set(document) - _SECTIONS)
    if unknown:
        raise TemplateError(f"Invalid template property or properties {unknown}")
    resources = _section(document, "Resources")
    if not resources:
        raise TemplateError("Template format error: At least one Resources member must be defined.")
    for section, known in _MEMBER_KEYS.items():
        _check_members(section, _section(document, section), known)
    return Template(
        body=body,
        resources={name: _declaration(name, body) for name, body in resources.items()},
        parameters=_section(document, "Parameters"),
        mappings=_section(document, "Mappings"),
        conditions=_section(document, "Conditions"),
        rules=_section(document, "Rules"),
        outputs=_section(document, "Outputs"),
        description=document.get("Description"),
        metadata=document.get("Metadata"),
    )


def _section(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    # Source: recorded localstack/localstack api/test_stacks test_linting_error_during_creation (2022-11-11)
    section: Any = document.get(name) or {}
    if not isinstance(section, Mapping):
        raise TemplateError(f"Template format error: {name} must be a mapping")
    return cast("Mapping[str, Any]", section)


def _check_members(section: str, members: Mapping[str, Any], known: frozenset[str]) -> None:
    """Reject unknown members of a section, and unknown keys in them.

    Source: model cfn-lint schemas/other/parameters/configuration.json
    Source: model cfn-lint schemas/other/outputs/configuration.json
    """
    for name, body in members.items():
        _check_logical_id(section, name)
        if not isinstance(body, Mapping):
            raise TemplateError(f"Template format error: [/{section}/{name}] must be a mapping")
        declared = cast("Mapping[str, Any]", body)
        unknown = sorted(set(declared) - known)
        if unknown:
            raise TemplateError(f"[/{section}/{name}] {unknown} is not supported; allowed: {sorted(known)}")
        if section == "Parameters" and not _PARAMETER_TYPE.fullmatch(str(declared.get("Type"))):
            raise TemplateError(f"[/{section}/{name}] unknown parameter type {declared.get('Type')!r}")


def _check_logical_id(section: str, name: str) -> None:
    # Source: recorded localstack/localstack api/test_resources test_invalid_logical_resource_id (2025-07-25)
    if not _LOGICAL_ID.fullmatch(name):
        raise TemplateError(f"Template format error: {section} name '{name}' is non alphanumeric.")


def _declaration(logical_id: str, body: Any) -> Declaration:
    """Read one resource.

    Source: model cfn-lint schemas/other/resources/configuration.json
    Source: recorded localstack/localstack api/test_validations test_resources_blocks (2024-05-31)
    Source: emulation, snapshots for the `Snapshot` deletion policy are not supported
    """
    _check_logical_id("Resources", logical_id)
    if not isinstance(body, Mapping) or not isinstance(body.get("Type"), str):  # pyright: ignore[reportUnknownMemberType]
        raise TemplateError(f"Template format error: [/Resources/{logical_id}] must have a Type")
    declared = cast("Mapping[str, Any]", body)
    unknown = sorted(set(declared) - _RESOURCE_KEYS)
    if unknown:
        raise TemplateError(f"[/Resources/{logical_id}] {unknown} is not supported; allowed: {sorted(_RESOURCE_KEYS)}")
    for key in ("DeletionPolicy", "UpdateReplacePolicy"):
        if declared.get(key, "Delete") not in _DELETION_POLICIES:
            raise TemplateError(
                f"[/Resources/{logical_id}/{key}] {declared[key]} is not supported; allowed: {_DELETION_POLICIES}"
            )
    check_policies(logical_id, declared["Type"], declared)
    depends_on = declared.get("DependsOn", ())
    return Declaration(
        logical_id=logical_id,
        resource_type=declared["Type"],
        properties=_section(declared, "Properties"),
        depends_on=(depends_on,) if isinstance(depends_on, str) else tuple(depends_on),
        condition=declared.get("Condition"),
        deletion_policy=declared.get("DeletionPolicy", "Delete"),
        update_replace_policy=declared.get("UpdateReplacePolicy", "Delete"),
        metadata=declared.get("Metadata"),
        creation_policy=declared.get("CreationPolicy"),
        update_policy=declared.get("UpdatePolicy"),
    )


def _load(body: str) -> Mapping[str, Any]:
    """Read JSON or YAML.

    Source: recorded localstack/localstack api/test_templates
    test_validate_invalid_json_template_should_fail (2024-06-18), test_create_stack_invalid_yaml_template_should_fail
    (2025-11-13)
    Source: recorded localstack/localstack api/test_stacks test_create_stack_url_as_template (2025-10-23)
    """
    try:
        document = json.loads(body) if body.lstrip().startswith("{") else yaml.load(body, Loader=_loader())  # noqa: S506
    except (ValueError, yaml.YAMLError) as error:
        raise TemplateError(f"Template format error: {error}") from error
    if not isinstance(document, Mapping):
        raise TemplateError("Template format error: unsupported structure.")
    return cast("Mapping[str, Any]", document)


@cache
def _loader() -> type[yaml.SafeLoader]:
    """Return a safe loader that reads CloudFormation's short forms, and dates as text (`Version: 2012-10-17`)."""

    class Loader(yaml.SafeLoader):
        """A class of its own, because constructors are registered on a class."""

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    Loader.add_multi_constructor("!", _short_form)  # pyright: ignore[reportUnknownMemberType]
    return Loader


def _short_form(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = cast("Sequence[Any]", loader.construct_sequence(node, deep=True))
    else:
        assert isinstance(node, yaml.MappingNode)
        value = loader.construct_mapping(node, deep=True)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}
