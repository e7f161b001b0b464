"""Reads the template, its parameters and tags from a request."""

from collections.abc import Mapping
from typing import Any

from llm_fleet_local.aws.stacks.engine import CloudFormation
from llm_fleet_local.aws.stacks.errors import invalid
from llm_fleet_local.aws.stacks.proposal import Proposal
from llm_fleet_local.aws.stacks.stack import Stack

_MAX_BODY_BYTES = 51_200
"""TemplateBody's limit in CloudFormation's API reference; a TemplateURL may point to 1 MB."""
_MAX_OBJECT_BYTES = 1_048_576


def template_body(engine: CloudFormation, region: str, params: Mapping[str, Any], stack: Stack | None = None) -> str:
    """Return the template's text, from the body, a URL or the stack. Raises `RequestRejected` or `TemplateError`.

    Source: recorded localstack/localstack api/test_update_stack test_no_template_error (2022-11-21)
    Source: model botocore cloudformation UsePreviousTemplate ("You must specify only one")
    """
    given = [name for name in ("TemplateBody", "TemplateURL", "UsePreviousTemplate") if params.get(name)]
    if len(given) > 1:
        raise invalid(f"Only one of {' and '.join(given)} may be specified.")
    body: str | None = params.get("TemplateBody")
    if body is not None:
        return _at_most(body, _MAX_BODY_BYTES, "templateBody")
    if params.get("TemplateURL"):
        return _at_most(engine.lookups.object_text(params["TemplateURL"], region), _MAX_OBJECT_BYTES, "template")
    if params.get("UsePreviousTemplate") and stack is not None:
        return stack.definition.live.template.body
    raise invalid("Either Template URL or Template Body must be specified.")


def proposal(engine: CloudFormation, region: str, params: Mapping[str, Any], stack: Stack | None) -> Proposal:
    """Return the requested definition of a stack; missing members keep the values of `stack`."""
    before = stack.definition if stack else None
    tags = params.get("Tags")
    arns = params.get("NotificationARNs")
    return Proposal(
        body=template_body(engine, region, params, stack),
        parameters={
            item["ParameterKey"]: None if item.get("UsePreviousValue") else item.get("ParameterValue", "")
            for item in params.get("Parameters", [])
        },
        tags={tag["Key"]: tag["Value"] for tag in tags} if tags is not None else before.tags if before else {},
        capabilities=tuple(params.get("Capabilities", ())),
        notification_arns=tuple(arns) if arns is not None else before.notification_arns if before else (),
        role_arn=params.get("RoleARN"),
    )


def _at_most(body: str, limit: int, what: str) -> str:
    # Source: model botocore cloudformation TemplateBody
    # Source: model botocore cloudformation TemplateURL
    # Source: recorded localstack/localstack test_template_engine test_to_validate_template_limit_for_macro (2023-01-30)
    size = len(body.encode())
    if size > limit:
        raise invalid(f"{what}: {size} bytes; at most {limit} are allowed")
    return body
