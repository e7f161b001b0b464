"""The role that people act with where they train and serve, and that their jobs are given."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.acknowledge import acknowledge, acknowledge_wildcards
from llm_fleet.iam.permission import Permission, Place
from llm_fleet.iam.statements import characters_of, reasons_of, statement_of
from llm_fleet.rules.node_policy import policy_size
from llm_fleet.rules.problem import raise_problems
from llm_fleet.sagemaker.workbench_permissions import pass_itself

_PRINCIPAL = "sagemaker.amazonaws.com"


class WorkbenchRole(Construct):
    """A role that SageMaker takes, with these permissions, and with that to hand itself to what it makes.

    Its policies are managed ones. What uses the role must depend on this construct, so that none starts without them.
    The trust has no `aws:SourceAccount`: that SageMaker sends it for notebook instances is not documented, and a
    condition on a key that is not sent would keep every instance from starting.
    assumption: sagemaker-sends-no-source-account
    """

    def __init__(
        self, scope: Construct, id: str, *, description: str, permissions: Mapping[str, Sequence[Permission]]
    ) -> None:
        """Make the role. `permissions`: by the ids of the policies that they stand in.

        Raises `FleetError` when some make a longer policy than IAM takes.
        """
        super().__init__(scope, id)
        for group in permissions.values():
            raise_problems(policy_size(characters_of(group)), subject=self.node.path)
        self.role: iam.Role = iam.Role(
            self,
            "Resource",
            description=description,
            assumed_by=cast(iam.IPrincipal, iam.ServicePrincipal(_PRINCIPAL)),
        )
        """The role itself."""
        itself = pass_itself(self.role.role_arn)
        self.permissions: tuple[Permission, ...] = (*chain.from_iterable(permissions.values()), *itself)
        """The statements, each with its reason."""
        for name, group in permissions.items():
            self._add(name, group, description)
        # Apart, since it names the role, which is there before it.
        self._add("PassItself", itself, description)
        acknowledge(
            self.role,
            "only what other constructs grant stands in a policy within the role: the CDK's grants know no other way",
            "NIST.800.53.R5-IAMNoInlinePolicy",
        )

    def _add(self, id: str, permissions: Sequence[Permission], description: str) -> None:
        policy = iam.ManagedPolicy(
            self,
            id,
            description=description,
            statements=[statement_of(permission) for permission in permissions],
            roles=[cast(iam.IRole, self.role)],
        )
        acknowledge_wildcards(policy, lambda: reasons_of(permissions))


def place_of(scope: Construct) -> Place:
    """Return where the ARNs of a policy in the stack around `scope` point."""
    stack = cdk.Stack.of(scope)
    return Place(partition=stack.partition, region=stack.region, account=stack.account)
