"""The role of a service of AWS, with its statements and their reasons."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.acknowledge import acknowledge_wildcards
from llm_fleet.iam.statements import Permission, reasons_of, statement_of


def permission_policy(
    scope: Construct,
    id: str,
    permissions: Sequence[Permission],
    *,
    description: str,
    roles: Sequence[iam.IRole | iam.Role] = (),
) -> iam.ManagedPolicy:
    """Return a managed policy with these permissions, attached to `roles`; its wildcards are answered by reasons."""
    policy = iam.ManagedPolicy(
        scope,
        id,
        description=description,
        statements=[*map(statement_of, permissions)],
        roles=[cast(iam.IRole, role) for role in roles] or None,
    )
    acknowledge_wildcards(policy, lambda: reasons_of(permissions))
    return policy


class ServiceRole(Construct):
    """A role with these permissions and no other.

    Its policy is a managed one: CloudFormation makes it before the role, so nothing starts without its permissions.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        service: str,
        description: str,
        permissions: Sequence[Permission],
        conditions: Mapping[str, Any] | None = None,
    ) -> None:
        """Make the role that `service`, e.g. `states.amazonaws.com`, takes; without any permission it has no policy.

        `conditions`: of its trust, on keys that the service is documented to send. A condition on a key that is not
        sent would keep everything from starting. Default: none.
        """
        super().__init__(scope, id)
        self.permissions: tuple[Permission, ...] = tuple(permissions)
        """The statements, each with its reason."""
        policies: list[iam.IManagedPolicy] = []
        if self.permissions:
            policy = permission_policy(self, "Policy", self.permissions, description=description)
            policies = [cast(iam.IManagedPolicy, policy)]
        role = iam.Role(
            self,
            "Resource",
            description=description,
            assumed_by=cast(iam.IPrincipal, iam.ServicePrincipal(service, conditions=conditions)),
            managed_policies=policies,
        )
        self.role: iam.IRole = cast(iam.IRole, role)
        """The role itself."""
