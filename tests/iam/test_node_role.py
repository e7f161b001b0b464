"""The template of the role, and cdk-nag's findings."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template
from cdk_nag import AwsSolutionsChecks, NIST80053R5Checks

from llm_fleet.iam.node_role import NodeFeatures, NodeRole
from llm_fleet.iam.statements import BucketAccess
from llm_fleet.rules.problem import FleetError


def _bucket(scope: cdk.Stack) -> s3.IBucket:
    return s3.Bucket(scope, "Bundles", encryption_key=cast(kms.IKey, kms.Key(scope, "Key")))


def test_the_policy_is_created_before_the_role(stack: cdk.Stack) -> None:
    NodeRole(stack, "Role", features=NodeFeatures(bundle=BucketAccess.of(_bucket(stack), prefix="bundles/a")))
    template = Template.from_stack(stack)
    (policy_id,) = template.find_resources("AWS::IAM::ManagedPolicy")
    template.has_resource_properties("AWS::IAM::Role", {"ManagedPolicyArns": [{"Ref": policy_id}]})
    template.resource_count_is("AWS::IAM::Policy", 0)


def test_only_sagemaker_can_assume_the_role(stack: cdk.Stack) -> None:
    NodeRole(stack, "Role", features=NodeFeatures())
    (role,) = Template.from_stack(stack).find_resources("AWS::IAM::Role").values()
    (statement,) = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert statement == {
        "Action": "sts:AssumeRole",
        "Effect": "Allow",
        "Principal": {"Service": "sagemaker.amazonaws.com"},
    }


def test_the_key_of_the_bundle_can_only_be_used_to_decrypt(stack: cdk.Stack) -> None:
    NodeRole(stack, "Role", features=NodeFeatures(bundle=BucketAccess.of(_bucket(stack), prefix="bundles/a")))
    statements = _statements(stack)
    assert statements["BundleKey"]["Action"] == "kms:Decrypt"
    assert statements["BundleKey"]["Resource"] == {"Fn::GetAtt": ["Key961B73FD", "Arn"]}
    assert statements["BundleList"]["Condition"] == {"StringLikeIfExists": {"s3:prefix": ["bundles/a", "bundles/a/*"]}}


def test_name_and_boundary_are_passed_on(stack: cdk.Stack) -> None:
    boundary = iam.ManagedPolicy.from_managed_policy_name(stack, "Boundary", "ours")
    NodeRole(stack, "Role", features=NodeFeatures(), role_name="nodes", permissions_boundary=boundary)
    (role,) = Template.from_stack(stack).find_resources("AWS::IAM::Role").values()
    assert role["Properties"]["RoleName"] == "nodes"
    assert "policy/ours" in str(role["Properties"]["PermissionsBoundary"])


def test_too_many_features_for_a_policy_are_rejected_before_anything_is_created(stack: cdk.Stack) -> None:
    buckets = tuple(BucketAccess(bucket_arn=f"arn:aws:s3:::bucket-number-{number}") for number in range(40))
    with pytest.raises(FleetError, match="LF420") as caught:
        NodeRole(stack, "Role", features=NodeFeatures(read_buckets=buckets))
    assert "use fewer buckets" in str(caught.value)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["same stack", "bucket in another stack"])
def test_nag_finds_nothing(app: cdk.App, stack: cdk.Stack, elsewhere: bool) -> None:
    holder = cdk.Stack(app, "Other", env=cdk.Environment(account=stack.account, region=stack.region))
    features = NodeFeatures(
        bundle=BucketAccess.of(_bucket(holder if elsewhere else stack), prefix="bundles/a"),
        vpc=True,
        efa_file_system=True,
        image_repositories=("arn:aws:ecr:us-west-2:111122223333:repository/trainer",),
    )
    role = NodeRole(stack, "Role", features=features)
    assert _findings(app, role) == []


def test_without_reasons_nag_finds_the_wildcards(
    app: cdk.App, stack: cdk.Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_reasons(_: object) -> dict[str, str]:
        return {}

    monkeypatch.setattr("llm_fleet.iam.node_role.reasons_of", no_reasons)
    role = NodeRole(stack, "Role", features=NodeFeatures(vpc=True))
    assert "AwsSolutions-IAM5[Resource::*]" in _findings(app, role)


def _findings(app: cdk.App, role: NodeRole) -> list[str]:
    """Return the packs' findings in the role's own resources."""
    stack = cdk.Stack.of(role)
    cdk.Validations.of(stack).add_plugins(AwsSolutionsChecks(stack), NIST80053R5Checks(stack))
    # Synth fails if a pack has findings; they are in the report. Findings in the bucket of these tests are ignored.
    with suppress(RuntimeError):
        app.synth()
    report = json.loads(Path(app.outdir, "validation-report.json").read_text(encoding="utf-8"))
    return [
        violation["ruleName"]
        for plugin in report["pluginReports"]
        for violation in plugin["violations"]
        for found in violation["violatingConstructs"]
        if found["constructPath"].startswith(role.node.path)
    ]


def _statements(stack: cdk.Stack) -> dict[str, dict[str, Any]]:
    (policy,) = Template.from_stack(stack).find_resources("AWS::IAM::ManagedPolicy").values()
    return {statement["Sid"]: statement for statement in policy["Properties"]["PolicyDocument"]["Statement"]}
