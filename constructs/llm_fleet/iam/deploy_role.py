"""The role with which GitHub Actions deploys a fleet, and what CloudFormation may do for it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.catalog.deployment import deploy_facts
from llm_fleet.iam.execution_policy import execution_permissions, in_policies
from llm_fleet.iam.fleet_templates import FleetTemplates
from llm_fleet.iam.statements import NamedPolicy, Permission, Place
from llm_fleet.rules.deploy_role import (
    check_bootstrap_names,
    check_boundary,
    check_boundary_name,
    check_bounded,
    check_count,
    check_issuer,
    check_own_names,
    check_provider,
    check_repository,
    check_subject,
)
from llm_fleet.rules.problem import raise_problems

_BOOTSTRAP_ROLES = ("deploy-role", "file-publishing-role", "lookup-role")
"""Roles of the CDK's bootstrap that the CDK CLI assumes.

Source: https://docs.aws.amazon.com/cdk/v2/guide/bootstrapping-env.html
"""
_OTHER_BOOTSTRAP_ROLES = ("cfn-exec-role", "image-publishing-role")
"""The other roles of the bootstrap."""
_QUALIFIER = "hnb659fds"


class DeployRole(Construct):
    """An IAM role for GitHub Actions, and policies with which CloudFormation can deploy one fleet and nothing else.

    The role may assume the roles of the CDK's bootstrap and read what `llm-fleet check` and `llm-fleet plan` read. The
    policies are for `cdk bootstrap --cloudformation-execution-policies`: the stack's output has the list.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        assembly: str | Path,
        repository: str,
        environment: str | None = None,
        branch: str | None = None,
        wildcards: bool = False,
        name: str | None = None,
        issuer: str | None = None,
        provider: iam.IOidcProvider | None = None,
        create_provider: bool = False,
        qualifier: str = _QUALIFIER,
        permissions_boundary: str | None = None,
        more_actions: Mapping[str, Sequence[str]] | None = None,
        max_session_duration: cdk.Duration | None = None,
    ) -> None:
        """Create role and policies for the fleet in `assembly`, a folder that `cdk synth` wrote.

        `repository`: `owner/name` on GitHub, or `owner@ID/name@ID` for a repository that was created, renamed or
        transferred after 2026-07-15. Only tokens with exactly this text are trusted. Its jobs can assume the role if
        they have this `environment`, or run for this `branch`; set one of them. `wildcards`: allow `*` in these
        values, except in the owner.
        `name`: of the role, and the beginning of the policies' names. Default: `deploy-` and the name of the fleet.
        `issuer`: URL of the tokens' issuer, for GitHub Enterprise Cloud with data residency or with an issuer of the
        enterprise. Default: that of github.com.
        `provider`: OIDC provider of the issuer. Default: the account's existing one; `create_provider` creates it.
        `qualifier`: of the CDK's bootstrap. `permissions_boundary`: ARN of the policy that each role of the fleet must
        have as its permissions boundary. `more_actions`: IAM actions of resource types that are not in the catalog.
        `max_session_duration`: how long a job can use the role, 1 to 12 hours. Default: 4 hours. A job gets 1 hour if
        it does not request more, with `role-duration-seconds`.

        Raises `FleetError` (LF1250 to LF1257).
        """
        super().__init__(scope, id)
        issuer = issuer or deploy_facts().issuer
        raise_problems(
            [
                *check_issuer(issuer),
                *(check_provider(provider.oidc_provider_arn, issuer) if provider is not None else ()),
                *check_repository(repository, wildcards=wildcards),
                *check_subject(environment, branch, wildcards=wildcards),
                *check_boundary(permissions_boundary),
            ],
            subject=self.node.path,
        )
        templates = FleetTemplates.read(Path(assembly))
        raise_problems(check_bounded(permissions_boundary, provider=templates.provider), subject=self.node.path)
        here = Place.of(self)
        self._place = Place(partition=here.partition, region=templates.region or here.region, account=here.account)
        self._issuer = issuer
        self._qualifier = qualifier
        self._max_session_duration = max_session_duration or cdk.Duration.hours(4)
        self.name = name or f"deploy-{templates.prefix.rstrip('-')}"
        """Name of the role."""
        self.permissions = execution_permissions(
            templates,
            self._place,
            assets=f"cdk-{qualifier}-assets-{here.account}-{self._place.region}",
            boundary=permissions_boundary,
            more_actions=more_actions,
        )
        """What CloudFormation may do, each statement with its reason."""
        self.execution_policies = self._execution_policies(templates, permissions_boundary)
        """The policies for CloudFormation's execution role."""
        self.role = self._role(repository, environment, branch, provider or self._provider(create_provider))
        """The role that a job assumes."""
        cdk.CfnOutput(self, "RoleArn", value=self.role.role_arn, description="for role-to-assume of the workflow")
        arns = ",".join(policy.arn for policy in self.execution_policies)
        cdk.CfnOutput(self, "ExecutionPolicies", value=arns, description="for cdk bootstrap")

    def _execution_policies(self, templates: FleetTemplates, boundary: str | None) -> tuple[NamedPolicy, ...]:
        groups = in_policies(self.permissions)
        names = [f"{self.name}-execution-{number}" for number, _ in enumerate(groups, start=1)]
        patterns = [text.rpartition(":")[2] for text in templates.names.get("iam", ())]
        own = [f"role/{self.name}", f"policy/{self.name}-ci", *(f"policy/{name}" for name in names)]
        bootstrap = [f"role/{self._bootstrap(role)}" for role in (*_BOOTSTRAP_ROLES, *_OTHER_BOOTSTRAP_ROLES)]
        raise_problems(
            [
                *check_count(len(groups)),
                *check_own_names(own, patterns),
                *check_bootstrap_names(self._qualifier, bootstrap, patterns),
                *check_boundary_name(boundary, patterns),
            ],
            subject=self.node.path,
        )
        return tuple(
            NamedPolicy(
                self,
                f"Execution{number}",
                name=name,
                description="What CloudFormation may do to deploy the fleet (llm-fleet)",
                permissions=group,
            )
            for number, (name, group) in enumerate(zip(names, groups, strict=True), start=1)
        )

    def _bootstrap(self, role: str) -> str:
        return f"cdk-{self._qualifier}-{role}-{self._place.account}-{self._place.region}"

    def _provider(self, create: bool) -> iam.IOidcProvider:
        if create:
            made = iam.OidcProviderNative(self, "Provider", url=self._issuer, client_ids=[deploy_facts().audience])
            return cast(iam.IOidcProvider, made)
        arn = f"arn:{self._place.partition}:iam::{self._place.account}:oidc-provider/{self._provider_name}"
        return iam.OidcProviderNative.from_oidc_provider_arn(self, "Provider", arn)

    @property
    def _provider_name(self) -> str:
        """Name of the OIDC provider in IAM: its URL without the scheme, in its ARN and in keys of conditions."""
        return self._issuer.removeprefix("https://")

    def _role(
        self, repository: str, environment: str | None, branch: str | None, provider: iam.IOidcProvider
    ) -> iam.Role:
        jobs = f"environment:{environment}" if environment is not None else f"ref:refs/heads/{branch}"
        subject = f"repo:{repository}:{jobs}"
        operator = "StringLike" if set("*?") & set(subject) else "StringEquals"
        conditions: dict[str, dict[str, str]] = {
            "StringEquals": {f"{self._provider_name}:aud": deploy_facts().audience}
        }
        conditions.setdefault(operator, {})[f"{self._provider_name}:sub"] = subject
        policy = NamedPolicy(
            self,
            "Policy",
            name=f"{self.name}-ci",
            description="What GitHub Actions may do to deploy the fleet (llm-fleet)",
            permissions=self._job_permissions(),
        )
        principal = iam.OpenIdConnectPrincipal(cast(iam.IOpenIdConnectProvider, provider), conditions)
        return iam.Role(
            self,
            "Role",
            role_name=self.name,
            description=f"Jobs of {repository} deploy with it (llm-fleet)",
            assumed_by=cast(iam.IPrincipal, principal),
            managed_policies=[policy.policy],
            max_session_duration=self._max_session_duration,
        )

    def _job_permissions(self) -> tuple[Permission, ...]:
        place = self._place
        return (
            Permission(
                sid="Bootstrap",
                actions=("sts:AssumeRole",),
                resources=tuple(
                    f"arn:{place.partition}:iam::{place.account}:role/{self._bootstrap(role)}"
                    for role in _BOOTSTRAP_ROLES
                ),
                reason="the CDK CLI publishes files, looks up values and starts deployments with these roles",
            ),
            Permission(
                sid="Check",
                actions=deploy_facts().check_actions,
                resources=("*",),
                reason="`llm-fleet check` and `llm-fleet plan` read quotas, capacity and existing resources, whose "
                "names are in the fleet file of each commit",
            ),
        )
