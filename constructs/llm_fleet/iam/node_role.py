"""The role that HyperPod's nodes act with."""

from typing import cast

from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.acknowledge import acknowledge_wildcards
from llm_fleet.iam.permissions import NodeFeatures, permissions
from llm_fleet.iam.statements import Permission, Place, characters_of, reasons_of, statement_of
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.values import policy_size


class NodeRole(Construct):
    """An execution role for HyperPod instance groups that can do what its features ask, and nothing else.

    The policy is a managed one of the role's own: CloudFormation makes it before the role, so a cluster that names
    the role never starts nodes without their permissions.

    The trust has no `aws:SourceAccount` condition: SageMaker's page on the confused deputy lists the jobs that send
    that key and HyperPod is not among them. A condition on a key that is not sent would keep every cluster from being
    created. assumption: sagemaker-sends-no-source-account
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        features: NodeFeatures,
        role_name: str | None = None,
        permissions_boundary: iam.IManagedPolicy | None = None,
    ) -> None:
        """Make the role for nodes with `features`.

        `role_name`: default, CloudFormation makes one up. `permissions_boundary`: default, none; an organisation
        that asks for one on every role gives it here.
        Raises `FleetError` when the features make a longer policy than IAM takes.
        """
        super().__init__(scope, id)
        self.permissions: tuple[Permission, ...] = permissions(features, Place.of(self))
        """The statements, each with its reason."""
        raise_problems(policy_size(characters_of(self.permissions)), subject=self.node.path)
        policy = iam.ManagedPolicy(
            self,
            "Policy",
            description="What HyperPod nodes may do, from the features that are switched on",
            statements=[statement_of(permission) for permission in self.permissions],
        )
        role = iam.Role(
            self,
            "Resource",
            role_name=role_name,
            description="Execution role of HyperPod nodes",
            assumed_by=cast(iam.IPrincipal, iam.ServicePrincipal("sagemaker.amazonaws.com")),
            managed_policies=[cast(iam.IManagedPolicy, policy)],
            permissions_boundary=permissions_boundary,
        )
        self.role = cast(iam.IRole, role)
        """The role itself."""
        acknowledge_wildcards(policy, lambda: reasons_of(self.permissions))

    @property
    def role_arn(self) -> str:
        """The ARN, a token."""
        return self.role.role_arn
