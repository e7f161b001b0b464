"""The role of a service of AWS, with its statements and their reasons."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.acknowledge import acknowledge_wildcards
from llm_fleet.iam.statements import Permission, reasons_of, statement_of


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
        policies = [self._policy(description)] if self.permissions else []
        role = iam.Role(
            self,
            "Resource",
            description=description,
            assumed_by=cast(iam.IPrincipal, iam.ServicePrincipal(service, conditions=conditions)),
            managed_policies=policies,
        )
        self.role: iam.IRole = cast(iam.IRole, role)
        """The role itself."""

    def _policy(self, description: str) -> iam.IManagedPolicy:
        policy = iam.ManagedPolicy(
            self, "Policy", description=description, statements=[*map(statement_of, self.permissions)]
        )
        acknowledge_wildcards(policy, lambda: reasons_of(self.permissions))
        return cast(iam.IManagedPolicy, policy)
