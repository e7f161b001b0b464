"""Tells cdk-nag, finding by finding, why a statement has a wildcard."""

import json
from collections.abc import Iterable
from typing import Any, cast

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.iam.permission import Permission


def acknowledge_wildcards(holder: Construct, given: Iterable[Permission], stack: cdk.Stack) -> None:
    """Acknowledge AwsSolutions-IAM5 on `holder` for each resource of `given` that holds a `*`, with its reason."""
    for permission in given:
        for resource in permission.resources:
            flat = flatten(stack.resolve(resource))
            if "*" in flat:
                finding = cdk.Acknowledgment(id=f"AwsSolutions-IAM5[Resource::{flat}]", reason=permission.reason)
                cdk.Validations.of(holder).acknowledge(finding)


def flatten(value: Any) -> str:
    """Write a resolved ARN as cdk-nag does in its finding ids: `<Bucket.Arn>/x/*`."""
    if isinstance(value, str):
        return value
    match cast("dict[str, Any]", value):
        case {"Fn::Join": [str(delimiter), [*items]]}:
            return delimiter.join(map(flatten, cast("list[Any]", items)))
        case {"Fn::GetAtt": [resource, attribute]}:
            return f"<{flatten(resource)}.{flatten(attribute)}>"
        case {"Fn::ImportValue": imported}:
            return flatten(imported)
        case {"Ref": name}:
            return f"<{name}>"
        case other:
            return json.dumps(other, separators=(",", ":"))
