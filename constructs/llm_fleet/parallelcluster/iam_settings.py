"""How ParallelCluster names and bounds the IAM roles that it makes."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import aws_iam as iam

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

_PATH = "/parallelcluster/"
"""Where the provider may make roles (`DefaultParallelClusterIamAdminPolicy` of parallelcluster-policies.yaml)."""


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


def check_resource_prefix(prefix: str | None) -> list[Problem]:
    """Return why the provider could not make roles with that prefix."""
    if prefix is None or is_unresolved(prefix) or "/" not in prefix or prefix.startswith(_PATH):
        return []
    return [
        Problem(
            code=Code.PC_IAM_PREFIX,
            message="ParallelCluster's provider makes roles on the path /parallelcluster/ only",
            path=("iam_resource_prefix",),
            value=prefix,
            allowed="a name without a slash, or a path below /parallelcluster/",
            remedy=f"write {_PATH}{prefix.strip('/')}/",
        )
    ]
