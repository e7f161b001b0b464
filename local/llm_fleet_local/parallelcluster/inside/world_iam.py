"""Creates the IAM resources of a configuration in moto. AWS managed policies are moto's."""

import json
from typing import Any

from moto.iam.models import ManagedPolicy, iam_backends

from llm_fleet_local.parallelcluster import named
from llm_fleet_local.parallelcluster.inside.account_context import AccountContext
from llm_fleet_local.parallelcluster.inside.world_ec2 import ACCOUNT

_NOTHING = json.dumps({"Version": "2012-10-17", "Statement": []})


def furnish_iam(configuration: dict[str, Any], account_context: AccountContext) -> None:
    """Create every policy, role and instance profile in a configuration."""
    iam = iam_backends[ACCOUNT]["aws"]
    for arn in account_context.exist(named.values(configuration, "Policy", "PermissionsBoundary")):
        if ":aws:policy/" not in arn:
            iam.managed_policies[arn] = _policy(arn)
    for arn in [arn for arn in account_context.missing if ":aws:policy/" not in arn]:
        iam.managed_policies.pop(arn, None)
    iam.roles.clear()
    iam.instance_profiles.clear()
    for arn in account_context.exist(named.values(configuration, "InstanceRole", "LambdaFunctionsRole")):
        iam.create_role(_name(arn), _NOTHING, "/", None, "", [], 3600)
    for arn in account_context.exist(named.values(configuration, "InstanceProfile")):
        role = iam.create_role(f"role-of-{_name(arn)}", _NOTHING, "/", None, "", [], 3600)
        iam.create_instance_profile(_name(arn), "/", [role.id])


def _policy(arn: str) -> ManagedPolicy:
    *_, account, path = arn.split(":")
    inside = path.removeprefix("policy")
    return ManagedPolicy(
        inside.rsplit("/", 1)[1],
        account_id=account,
        region="us-east-1",
        default_version_id="v1",
        path=inside.rsplit("/", 1)[0] + "/",
        document=_NOTHING,
    )


def _name(arn: str) -> str:
    return arn.rsplit("/", 1)[1]
