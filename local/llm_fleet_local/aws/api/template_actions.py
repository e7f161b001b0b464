"""The API's operations on templates."""

import json
from collections.abc import Mapping
from typing import Any

from llm_fleet_local.aws.api.requests import template_body
from llm_fleet_local.aws.stacks.change_set_work import find_change_set
from llm_fleet_local.aws.stacks.engine import CloudFormation
from llm_fleet_local.aws.stacks.proposal import needed_capabilities
from llm_fleet_local.aws.template.document import Template, parse_template
from llm_fleet_local.aws.template.values import as_text

Params = Mapping[str, Any]


def get_template(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """GetTemplate. Original and Processed are the same, because there are no transforms here."""
    if params.get("ChangeSetName"):
        _, change_set = find_change_set(engine, region, params["ChangeSetName"], params.get("StackName"))
        body = change_set.target.live.template.body
    else:
        body = engine.get(region, params["StackName"]).definition.live.template.body
    return {"TemplateBody": body, "StagesAvailable": ["Original", "Processed"]}


def get_template_summary(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """GetTemplateSummary, of a template or of a stack's template. Resource identifiers (for imports) are missing."""
    template = _template(engine, region, params)
    return {
        **_summary(template),
        "ResourceTypes": sorted({resource.resource_type for resource in template.resources.values()}),
        "Version": "2010-09-09",
        "Metadata": json.dumps(template.metadata) if template.metadata else None,
    }


def validate_template(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """ValidateTemplate."""
    summary = _summary(_template(engine, region, params))
    summary["Parameters"] = [
        {key: value for key, value in item.items() if key not in ("ParameterType", "ParameterConstraints")}
        for item in summary["Parameters"]
    ]
    return summary


def _template(engine: CloudFormation, region: str, params: Params) -> Template:
    stack = engine.get(region, params["StackName"]) if params.get("StackName") else None
    return stack.definition.live.template if stack else parse_template(template_body(engine, region, params))


def _summary(template: Template) -> dict[str, Any]:
    capabilities = list(needed_capabilities(template))
    return {
        "Parameters": [
            {
                "ParameterKey": name,
                "DefaultValue": as_text(spec["Default"]) if "Default" in spec else None,
                "ParameterType": spec.get("Type", "String"),
                "NoEcho": as_text(spec.get("NoEcho", False)) == "true",
                "Description": spec.get("Description"),
                "ParameterConstraints": {"AllowedValues": [as_text(value) for value in spec.get("AllowedValues", [])]},
            }
            for name, spec in template.parameters.items()
        ],
        "Description": template.description,
        "Capabilities": capabilities,
        "CapabilitiesReason": f"The template has IAM resources: {capabilities}" if capabilities else None,
    }
