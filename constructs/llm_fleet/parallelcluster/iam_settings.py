"""How ParallelCluster names and bounds the IAM roles that it makes."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import aws_iam as iam


def iam_overrides(
    overrides: Mapping[str, Any], *, boundary: iam.IManagedPolicy | None, resource_prefix: str | None
) -> dict[str, Any]:
    """Return `overrides` with the section `Iam` that says so; what the user has there stays."""
    section: dict[str, Any] = {}
    if boundary is not None:
        section["PermissionsBoundary"] = boundary.managed_policy_arn
    if resource_prefix is not None:
        section["ResourcePrefix"] = resource_prefix
    if not section:
        return dict(overrides)
    return {**overrides, "Iam": {**overrides.get("Iam", {}), **section}}
