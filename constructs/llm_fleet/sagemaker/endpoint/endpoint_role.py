"""The role that SageMaker acts with for an endpoint's model."""

from collections.abc import Sequence
from typing import cast

from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.acknowledge import acknowledge_wildcards
from llm_fleet.iam.permission import Permission
from llm_fleet.iam.statements import reasons_of, statement_of

_PRINCIPAL = "sagemaker.amazonaws.com"


class EndpointRole(Construct):
    """An execution role with these permissions and no other.

    Its policy is a managed one: CloudFormation makes it before the role, so no instance starts without it. The trust
    has no `aws:SourceAccount` condition: SageMaker's page on the confused deputy does not list endpoints among what
    sends that key, and a condition on a key that is not sent would keep every endpoint from being created.
    assumption: sagemaker-sends-no-source-account
    """

    def __init__(self, scope: Construct, id: str, *, description: str, permissions: Sequence[Permission]) -> None:
        """Make the role."""
        super().__init__(scope, id)
        self.permissions: tuple[Permission, ...] = tuple(permissions)
        """The statements, each with its reason."""
        policy = iam.ManagedPolicy(
            self, "Policy", description=description, statements=[*map(statement_of, self.permissions)]
        )
        acknowledge_wildcards(policy, lambda: reasons_of(self.permissions))
        role = iam.Role(
            self,
            "Resource",
            description=description,
            assumed_by=cast(iam.IPrincipal, iam.ServicePrincipal(_PRINCIPAL)),
            managed_policies=[cast(iam.IManagedPolicy, policy)],
        )
        self.role: iam.IRole = cast(iam.IRole, role)
        """The role itself."""
