"""The issuer of GitHub's tokens, and its OIDC provider, of the role that deploys a fleet."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Match, Template

from llm_fleet import DeployRole
from llm_fleet.rules.deploy_role import check_issuer
from llm_fleet.rules.problem import FleetError
from tests.iam.test_deploy_role import HOST, REPOSITORY, TEMPLATES, assembly


@pytest.fixture
def launch_post(tmp_path: Path) -> Path:
    """The network of the README's example."""
    (template,) = (TEMPLATES / "hyperpod-trn1").glob("*-network.json")
    return assembly(tmp_path, {template.stem: json.loads(template.read_text(encoding="utf-8"))})


def test_github_enterprise_server_is_not_supported():
    (problem,) = check_issuer("https://github.my-org.com/_services/token")
    assert "GitHub Enterprise Server, with an issuer `https://HOST/_services/token`, is not supported" in problem.remedy


@pytest.mark.parametrize(
    ("issuer", "provider", "fits"),
    [
        (None, HOST, True),
        (None, f"{HOST}/octocat-inc", False),
        (f"https://{HOST}/octocat-inc", f"{HOST}/octocat-inc", True),
        (f"https://{HOST}/octocat-inc", HOST, False),
    ],
)
def test_the_provider_must_be_that_of_the_issuer(
    stack: cdk.Stack, launch_post: Path, issuer: str | None, provider: str, fits: bool
):
    arn = f"arn:aws:iam::111122223333:oidc-provider/{provider}"
    given: dict[str, Any] = {
        "assembly": launch_post,
        "repository": REPOSITORY,
        "environment": "production",
        "issuer": issuer,
        "provider": iam.OidcProviderNative.from_oidc_provider_arn(stack, "Ours", arn),
    }
    with nullcontext() if fits else pytest.raises(FleetError) as caught:
        DeployRole(stack, "Deploy", **given)
    if caught is not None:
        (problem,) = caught.value.problems
        assert (problem.code.value, problem.path, problem.value) == ("LF1257", ("provider",), arn)


def test_a_provider_of_the_same_app_is_resolved_at_deployment(stack: cdk.Stack, launch_post: Path):
    provider = iam.OidcProviderNative(stack, "Ours", url=f"https://{HOST}")
    DeployRole(
        stack, "Deploy", assembly=launch_post, repository=REPOSITORY, environment="production", provider=provider
    )
    Template.from_stack(stack).has_resource_properties(
        "AWS::IAM::Role",
        {"AssumeRolePolicyDocument": {"Statement": [{"Principal": {"Federated": {"Ref": Match.any_value()}}}]}},
    )
