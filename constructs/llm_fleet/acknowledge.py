"""Acknowledges cdk-nag findings, each with its reason. Imports only the CDK, not cdk-nag."""

import json
from collections.abc import Callable
from typing import Any, cast

import aws_cdk as cdk
import jsii
from constructs import Construct, IValidation


def acknowledge(holder: Construct, reason: str, *ids: str) -> None:
    """Acknowledge the findings `ids` on `holder` and all below it, for `reason`."""
    cdk.Validations.of(holder).acknowledge(*(cdk.Acknowledgment(id=id, reason=reason) for id in ids))


def acknowledge_wildcards(holder: Construct, reasons: Callable[[], dict[str, str]]) -> None:
    """Acknowledge AwsSolutions-IAM5 on `holder` for each ARN with a `*` that `reasons` returns, with its reason.

    It happens when the app is validated: only then has a reference to another stack the form that cdk-nag sees.
    """
    holder.node.add_validation(cast(IValidation, _WildcardReasons(holder, reasons)))


def flatten(value: Any) -> str:
    """Write a resolved ARN as cdk-nag does in its finding ids, e.g. `<Bucket.Arn>/x/*`."""
    if isinstance(value, str):
        return value
    match cast("dict[str, Any]", value):
        case {"Fn::Join": [str(delimiter), items]}:
            return delimiter.join(map(flatten, items))
        case {"Fn::GetAtt": [resource, attribute]}:
            return f"<{flatten(resource)}.{flatten(attribute)}>"
        case {"Fn::ImportValue": imported}:
            return flatten(imported)
        case {"Ref": name}:
            return f"<{name}>"
        case other:
            return json.dumps(other, separators=(",", ":"))


@jsii.implements(IValidation)
class _WildcardReasons:
    """Reports no errors; only acknowledges."""

    def __init__(self, holder: Construct, reasons: Callable[[], dict[str, str]]) -> None:
        self._holder = holder
        self._reasons = reasons

    def validate(self) -> list[str]:
        """Acknowledge, and report no error."""
        stack = cdk.Stack.of(self._holder)
        for arn, reason in self._reasons().items():
            flat = flatten(stack.resolve(arn))
            if "*" in flat:
                acknowledge(self._holder, reason, f"AwsSolutions-IAM5[Resource::{flat}]")
        return []
