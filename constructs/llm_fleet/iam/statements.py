"""Permissions as the CDK's statements, and what cdk-nag and IAM ask of them together."""

import json
from collections.abc import Sequence

from aws_cdk import aws_iam as iam

from llm_fleet.iam.permission import Permission


def statement_of(permission: Permission) -> iam.PolicyStatement:
    """Return `permission` as a statement of a policy."""
    return iam.PolicyStatement(
        sid=permission.sid,
        actions=list(permission.actions),
        resources=list(permission.resources),
        conditions={operator: dict(keys) for operator, keys in permission.conditions.items()} or None,
    )


def reasons_of(permissions: Sequence[Permission]) -> dict[str, str]:
    """Return the reason behind each ARN; of two statements on one ARN, both reasons."""
    reasons: dict[str, list[str]] = {}
    for permission in permissions:
        for resource in permission.resources:
            reasons.setdefault(resource, []).append(f"{permission.sid}: {permission.reason}")
    return {resource: "; ".join(texts) for resource, texts in reasons.items()}


def characters_of(permissions: Sequence[Permission]) -> int:
    """Return how many characters the policy has as IAM counts them: without white space, tokens as they are now."""
    statements = [
        {
            "Sid": permission.sid,
            "Effect": "Allow",
            "Action": permission.actions,
            "Resource": permission.resources,
            "Condition": {operator: dict(keys) for operator, keys in permission.conditions.items()},
        }
        for permission in permissions
    ]
    return len(json.dumps({"Version": "2012-10-17", "Statement": statements}, separators=(",", ":")))
