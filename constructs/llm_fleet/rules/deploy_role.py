"""Rules of the role that deploys a fleet from GitHub Actions."""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from llm_fleet.catalog.deployment import deploy_facts
from llm_fleet.rules.feature_codes import DeployCode
from llm_fleet.rules.problem import Problem, is_unresolved, rule

_BRANCH = re.compile(r"[^\s\\~^:?*\[\x00-\x1f\x7f]+")
_POLICY_ARN = re.compile(r"arn:[a-z-]+:iam::(\d{12}|aws):(policy/[\w+=,.@/-]+)")


@rule
def check_repository(repository: str, *, wildcards: bool) -> Iterator[Problem]:
    """Return what is wrong with `owner/name`, or `owner@id/name@id`.

    With `wildcards`, the name can contain `*`, and needs no id if it ends in `*`; the owner never can.
    """
    pattern = deploy_facts().repository_pattern
    if wildcards:
        pattern = pattern.replace("[A-Za-z0-9._-]", "[A-Za-z0-9._*-]")
        pattern = pattern.replace("(?(1)@[0-9]+)", r"(?(1)(?:@[0-9]+|(?<=\*)))")
    if is_unresolved(repository) or re.fullmatch(pattern, repository):
        return
    if "*" in repository or "?" in repository:
        yield Problem(
            code=DeployCode.REPOSITORY,
            path=("repository",),
            message="a wildcard in `repository` lets other repositories deploy",
            value=repository,
            allowed="`owner/name` or `owner@ID/name@ID`, without `*` and `?`",
            remedy="write one repository; for several repositories of one owner, set `wildcards=True`",
        )
        return
    yield Problem(
        code=DeployCode.REPOSITORY,
        path=("repository",),
        message="`repository` is not the name of a GitHub repository",
        value=repository,
        allowed="`owner/name` or `owner@ID/name@ID`",
        remedy="write owner and name as in the repository's URL, e.g. `my-org/my-fleet`; for a repository that was "
        "created, renamed or transferred after 2026-07-15 with both ids, e.g. `my-org@1234/my-fleet@5678`: `gh api "
        "repos/my-org/my-fleet --jq '.owner.id, .id'` shows them",
    )


@rule
def check_issuer(issuer: str) -> Iterator[Problem]:
    """Return a problem when `issuer` is not the URL of an issuer of GitHub."""
    if not is_unresolved(issuer) and not re.fullmatch(deploy_facts().issuer_pattern, issuer):
        yield Problem(
            code=DeployCode.ISSUER,
            path=("issuer",),
            message="`issuer` is not the URL of an issuer of GitHub's tokens",
            value=issuer,
            allowed=f"`{deploy_facts().issuer}`; `{deploy_facts().issuer}/ENTERPRISE`; "
            "`https://token.actions.SUBDOMAIN.ghe.com`",
            remedy="remove `issuer` for github.com; write the second for an enterprise with its own issuer, and the "
            "third for GitHub Enterprise Cloud with data residency (GHE.com). GitHub Enterprise Server, with an issuer "
            "`https://HOST/_services/token`, is not supported",
        )


@rule
def check_provider(arn: str, issuer: str) -> Iterator[Problem]:
    """Return a problem when the OIDC provider with that ARN is for another issuer: no job could assume the role.

    Source: document https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_providers_create_oidc.html
    """
    name = issuer.removeprefix("https://")
    if not is_unresolved(arn) and not is_unresolved(issuer) and arn.partition(":oidc-provider/")[2] != name:
        yield Problem(
            code=DeployCode.ISSUER,
            path=("provider",),
            message="`provider` is not the OIDC provider of `issuer`, so no job could assume the role",
            value=arn,
            allowed=f"an ARN that ends with `:oidc-provider/{name}`",
            remedy="set `issuer` to the URL of this provider, or `provider` to that of the issuer: `aws iam "
            "list-open-id-connect-providers` lists them",
        )


@rule
def check_subject(environment: str | None, branch: str | None, *, wildcards: bool) -> Iterator[Problem]:
    """Return what is wrong with the jobs that may assume the role: those of one environment, or of one branch."""
    if (environment is None) == (branch is None):
        yield Problem(
            code=DeployCode.SUBJECT,
            path=("environment",),
            message="set exactly one of `environment` and `branch`: the token of a job names only one of them",
            value=environment,
            allowed="the name of a GitHub environment, or of a branch",
            remedy="set `environment`, e.g. `production`, or `branch`, e.g. `main`",
        )
        return
    key, value = ("environment", environment) if environment is not None else ("branch", branch)
    if value is None or is_unresolved(value):
        return
    if not wildcards and re.search(r"[*?]", value):
        yield Problem(
            code=DeployCode.SUBJECT,
            path=(key,),
            message=f"a wildcard in `{key}` lets other jobs of the repository deploy",
            value=value,
            allowed="a name without `*` and `?`",
            remedy="write one name, or set `wildcards=True`",
        )
    elif not _BRANCH.fullmatch(value.replace("*", "x").replace("?", "x")):
        yield Problem(
            code=DeployCode.SUBJECT,
            path=(key,),
            message=f"`{key}` contains characters that the token of a job does not contain",
            value=value,
            allowed="no white space, no `:`, `~`, `^`, `[` and backslash",
            remedy="write the name as GitHub shows it, without `refs/heads/`",
        )


def no_assembly(folder: Path, why: str) -> Problem:
    """Return the problem of a folder that is not a synthesized cloud assembly."""
    return Problem(
        code=DeployCode.ASSEMBLY,
        path=("assembly",),
        message=f"`assembly` is not a synthesized cloud assembly: {why}",
        value=str(folder),
        allowed="a folder that `cdk synth` wrote",
        remedy="run `npx cdk synth --quiet --context fleet=fleet.yaml`, and write its folder, `cdk.out`",
    )


@rule
def check_types(types: Iterable[str], known: Iterable[str]) -> Iterator[Problem]:
    """Return a problem for each resource type of the templates that is not among the `known` ones."""
    for kind in sorted(set(types) - set(known)):
        yield Problem(
            code=DeployCode.TYPE_UNKNOWN,
            path=("more_actions",),
            message="the IAM actions for this resource type are not in llm-fleet's catalog",
            value=kind,
            remedy=f'set more_actions={{"{kind}": [...]}}, with the actions that CloudFormation needs for the type',
        )


@rule
def check_count(policies: int) -> Iterator[Problem]:
    """Return a problem when there are more policies than a role can have by default."""
    if policies > deploy_facts().managed_policies:
        yield Problem(
            code=DeployCode.POLICIES,
            path=("assembly",),
            message="the execution policies are more than a role can have",
            value=policies,
            allowed=f"at most {deploy_facts().managed_policies}, IAM's default quota",
            remedy="split the fleet into two fleet files, each with its own deployment role",
        )


@rule
def check_own_names(names: Sequence[str], patterns: Iterable[str]) -> Iterator[Problem]:
    """Return a problem when `patterns` of the fleet's roles and policies match the deployment role's own names.

    All of them with their kind, e.g. `role/deploy-fleet`.
    """
    for pattern in _matching(names, patterns):
        yield Problem(
            code=DeployCode.OWN_NAME,
            path=("name",),
            message="the execution policies allow changes of names like the deployment role's own",
            value=names[0].rpartition("/")[2],
            allowed=f"a name that does not match `{pattern.partition('/')[2]}`",
            remedy="set `name` to a name that does not begin with the name of the fleet, e.g. `deploy-fleet`",
        )


@rule
def check_bootstrap_names(qualifier: str, names: Sequence[str], patterns: Iterable[str]) -> Iterator[Problem]:
    """Return a problem when `patterns` of the fleet match `names` of the roles of the CDK's bootstrap."""
    for pattern in _matching(names, patterns):
        yield Problem(
            code=DeployCode.OWN_NAME,
            path=("qualifier",),
            message="the execution policies allow changes of the roles of the CDK's bootstrap",
            value=qualifier,
            allowed=f"roles whose names do not match `{pattern.partition('/')[2]}`",
            remedy=f"give the fleet, or its role with this name, a name that does not begin with `cdk-{qualifier}`",
        )


@rule
def check_boundary_name(arn: str | None, patterns: Iterable[str]) -> Iterator[Problem]:
    """Return a problem when `patterns` of the fleet's policies match the permissions boundary: it could be changed."""
    found = None if arn is None or is_unresolved(arn) else _POLICY_ARN.fullmatch(arn)
    if found is None or found[1] == "aws":
        return
    for pattern in _matching([found[2]], patterns):
        yield Problem(
            code=DeployCode.BOUNDARY,
            path=("permissions_boundary",),
            message="the execution policies allow changes of the permissions boundary",
            value=arn,
            allowed=f"a policy whose name does not match `{pattern.partition('/')[2]}`",
            remedy="use a policy whose name does not begin with the name of the fleet",
        )


def _matching(names: Sequence[str], patterns: Iterable[str]) -> list[str]:
    return sorted({text for text in patterns if any(fnmatchcase(name, text) for name in names)})


@rule
def check_boundary(arn: str | None) -> Iterator[Problem]:
    """Return what is wrong with the ARN of a permissions boundary."""
    if arn is not None and not is_unresolved(arn) and not _POLICY_ARN.fullmatch(arn):
        yield Problem(
            code=DeployCode.BOUNDARY,
            path=("permissions_boundary",),
            message="`permissions_boundary` is not the ARN of a managed policy",
            value=arn,
            allowed="`arn:aws:iam::ACCOUNT:policy/NAME`",
            remedy="write the ARN that `aws iam list-policies --scope Local` shows",
        )


@rule
def check_bounded(arn: str | None, *, provider: bool) -> Iterator[Problem]:
    """Return a problem when roles must have a boundary and ParallelCluster's provider creates roles without one."""
    if arn is not None and provider:
        yield Problem(
            code=DeployCode.BOUNDARY,
            path=("permissions_boundary",),
            message="the provider of AWS ParallelCluster creates roles without a permissions boundary",
            value=arn,
            remedy="remove `permissions_boundary`, or deploy the ParallelCluster clusters by another fleet file",
        )
