"""`DeployRole` is sufficient: fleets deployed to a local emulation by a role that has only its execution policies.

The emulator evaluates action, resource and conditions for each call of CloudFormation, and of nothing else.
"""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from llm_fleet import DeployRole
from llm_fleet_local.aws.assembly.report import DeploymentReport
from llm_fleet_local.aws.client import LocalAws
from tests.deployment.conftest import synthesize
from tests.deployment.inference_on_aws import lay_model
from tools.synth_environment import ROOT, cdk_context

ACCOUNT = "123456789012"
NAME = "execution"


_NIGHTLY = [pytest.param(name, marks=pytest.mark.nightly) for name in ("parallelcluster-trn1", "inference-inf2")]


@pytest.fixture(scope="module", params=["hyperpod-trn1", *_NIGHTLY])
def fleet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The assembly of an example."""
    folder = tmp_path_factory.mktemp("fleet")
    return synthesize(folder / "cdk.out", ROOT / "examples" / f"{request.param}.yaml", account=ACCOUNT)


@contextmanager
def account_for(fleet: Path) -> Generator[LocalAws]:
    """An emulated account with what the examples name, and an execution role with the policies of a `DeployRole`."""
    artifacts = json.loads((fleet / "manifest.json").read_text(encoding="utf-8"))["artifacts"].values()
    region = next(one["environment"] for one in artifacts if one["type"] == "aws:cloudformation:stack").rpartition("/")[
        2
    ]
    with LocalAws(region=region) as aws:
        aws.bootstrap()
        if region == "us-west-2":
            place = {"LocationConstraint": region}
            aws.client("s3").create_bucket(Bucket="my-models", CreateBucketConfiguration=place)
            lay_model(aws, bucket="my-models", prefix="tanuki-8b")
        app = cdk.App(context=cdk_context(), outdir=str(fleet.parent / f"deploy-{region}"))
        stack = cdk.Stack(app, "role", env=cdk.Environment(account=ACCOUNT, region=region))
        DeployRole(stack, "Deploy", assembly=fleet, repository="my-org/my-fleet", environment="production")
        report = aws.deploy(Path(app.synth().directory))
        assert report.succeeded, str(report)
        trust = {
            "Effect": "Allow",
            "Action": "sts:AssumeRole",
            "Principal": {"Service": "cloudformation.amazonaws.com"},
        }
        aws.client("iam").create_role(RoleName=NAME, AssumeRolePolicyDocument=json.dumps({"Statement": [trust]}))
        arns = next(value for key, value in report.outputs("role").items() if "ExecutionPolicies" in key)
        for arn in arns.split(","):
            aws.client("iam").attach_role_policy(RoleName=NAME, PolicyArn=arn)
        aws.check_execution_roles()
        yield aws


def deploy(aws: LocalAws, fleet: Path) -> DeploymentReport:
    return aws.deploy(fleet, role_arn=f"arn:aws:iam::{ACCOUNT}:role/{NAME}")


@contextmanager
def changed(aws: LocalAws, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Generator[None]:
    """Replace the statements of the execution role's policies; afterwards, restore them."""
    iam = aws.client("iam")
    versions: list[tuple[str, str, str]] = []
    for attached in iam.list_attached_role_policies(RoleName=NAME)["AttachedPolicies"]:
        arn = attached["PolicyArn"]
        before = iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"]
        document = iam.get_policy_version(PolicyArn=arn, VersionId=before)["PolicyVersion"]["Document"]
        after = {**document, "Statement": change(document["Statement"])}
        if after != document:
            made = iam.create_policy_version(PolicyArn=arn, PolicyDocument=json.dumps(after), SetAsDefault=True)
            versions.append((arn, before, made["PolicyVersion"]["VersionId"]))
    assert versions, "nothing was changed"
    yield
    for arn, before, made in versions:
        iam.set_default_policy_version(PolicyArn=arn, VersionId=before)
        iam.delete_policy_version(PolicyArn=arn, VersionId=made)


def without(aws: LocalAws, sid: str) -> Any:
    return changed(aws, lambda statements: [one for one in statements if one["Sid"] != sid])


NEEDED = {
    "launch-post": ("PassRole", "KmsAccount", "CustomResources"),
    "trainium": ("CloudformationAccount", "FsxAccount"),
    "inference": ("SecretsmanagerNames", "Wafv2Account"),
}
"""Statements of each fleet without which a deployment fails."""


def test_the_policies_are_sufficient_and_each_of_these_statements_is_needed(fleet: Path):
    name = next(fleet.glob("*-network.template.json")).name.removesuffix("-network.template.json")
    with account_for(fleet) as aws:
        for sid in NEEDED[name]:
            with without(aws, sid):
                report = deploy(aws, fleet)
                assert not report.succeeded, sid
                assert "is not authorized to perform" in str(report), str(report)
            aws.check_execution_roles(False)
            aws.destroy(fleet, unprotect=True)
            aws.check_execution_roles()
        report = deploy(aws, fleet)
        assert report.succeeded, str(report)
        destroyed = aws.destroy(fleet, unprotect=True)
        assert "is not authorized" not in str(destroyed)
