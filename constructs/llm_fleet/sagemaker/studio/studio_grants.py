"""What others may do with a domain of Studio."""

from typing import Protocol

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import IConstruct

from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem, raise_problems


class GrantedDomain(Protocol):
    """A domain that something can be granted on."""

    @property
    def domain_id(self) -> str:
        """Its id."""
        ...

    @property
    def user_names(self) -> tuple[str, ...]:
        """Those who have profiles in it."""
        ...


class StudioGrants:
    """What others may do with a domain. Each method returns the `Grant`, whose `success` tells an imported role."""

    def __init__(self, scope: IConstruct, domain: GrantedDomain) -> None:
        """Grant on `domain`, in the stack of `scope`."""
        self._scope = scope
        self._stack = cdk.Stack.of(scope)
        self._domain = domain

    def open(self, grantee: iam.IGrantable, *, user: str) -> iam.Grant:
        """Let `grantee` open Studio as `user`, by the console or a presigned URL, and see the domain and the profile.

        One who opens it acts with the profile's role. Raises `FleetError` (LF119) for a user whom the domain lacks.
        """
        names = self._domain.user_names
        if user not in names:
            problem = Problem(
                code=Code.UNKNOWN_REFERENCE,
                message="the domain has no user of this name",
                remedy=did_you_mean(user, names, otherwise="give the domain such a StudioUser"),
                path=("user",),
                value=user,
                allowed=", ".join(names),
            )
            raise_problems([problem], subject=self._scope.node.path)
        profile = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["sagemaker:CreatePresignedDomainUrl", "sagemaker:DescribeUserProfile"],
            resource_arns=[self._arn("user-profile", f"{self._domain.domain_id}/{user}")],
        )
        domain = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["sagemaker:DescribeDomain"],
            resource_arns=[self._arn("domain", self._domain.domain_id)],
        )
        return profile.combine(domain)

    def _arn(self, resource: str, name: str) -> str:
        return self._stack.format_arn(service="sagemaker", resource=resource, resource_name=name)
