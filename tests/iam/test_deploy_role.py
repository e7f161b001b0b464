"""The role with which GitHub Actions deploys a fleet, and what CloudFormation may do for it."""

import json
import os
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from llm_fleet import DeployRole
from llm_fleet.catalog.deployment import action_scopes, deploy_facts, deployment_actions, service_linked
from llm_fleet.iam.fleet_templates import FleetTemplates
from llm_fleet.iam.statements import describe
from llm_fleet.rules.problem import FleetError
from tests.clean import all_findings
from tests.golden import golden_resources
from tests.pages import CONSTRUCTS, check_made
from tools.make_deployment_permissions import TARGET, document, types
from tools.synth_environment import ROOT

GOLDEN = Path(__file__).parent / "golden" / "deploy-role.json"
TEMPLATES = ROOT / "tests" / "stacks" / "golden"
HOST = "token.actions.githubusercontent.com"
REPOSITORY = "my-org/my-fleet"


def assembly(folder: Path, templates: Mapping[str, Any], *, region: str = "us-west-2") -> Path:
    """Write templates, by name of stack, as a cloud assembly."""
    artifacts: dict[str, Any] = {"Tree": {"type": "cdk:tree"}}
    for name, template in templates.items():
        (folder / f"{name}.template.json").write_text(json.dumps(template), encoding="utf-8")
        artifacts[name] = {
            "type": "aws:cloudformation:stack",
            "environment": f"aws://111122223333/{region}",
            "properties": {"templateFile": f"{name}.template.json"},
        }
    (folder / "manifest.json").write_text(json.dumps({"artifacts": artifacts}), encoding="utf-8")
    return folder


@pytest.fixture
def launch_post(tmp_path: Path) -> Path:
    """The templates of the README's example."""
    found = (TEMPLATES / "hyperpod-trn1").glob("*.json")
    return assembly(tmp_path, {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in found})


def one(folder: Path, kind: str, properties: Mapping[str, Any] | None = None) -> Path:
    thing = {"Type": kind, "Properties": dict(properties or {})}
    return assembly(folder, {"fleet-a": {"Resources": {"Thing": thing}}})


def statements(role: DeployRole) -> dict[str, Any]:
    return {permission.sid: permission for permission in role.permissions}


def trust(stack: cdk.Stack) -> dict[str, Any]:
    (role,) = Template.from_stack(stack).find_resources("AWS::IAM::Role").values()
    (statement,) = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    return statement


def test_the_data_file_is_what_the_tool_writes():
    assert TARGET.read_text(encoding="utf-8") == document(), "run `python -m tools.make_deployment_permissions`"


def test_every_type_of_the_examples_is_in_the_catalog():
    known = {*types(), "AWS::CloudFormation::CustomResource"}
    found = {kind for kind, _ in golden_resources()} | {
        kind
        for path in TEMPLATES.glob("*.txt")
        for kind in re.findall(r"AWS::\w+::\w+", path.read_text(encoding="utf-8"))
    }
    assert len(found) > 60
    assert sorted(kind for kind in found if not kind.startswith("Custom::") and kind not in known) == []


def test_a_job_of_the_environment_can_assume_the_role(stack: cdk.Stack, launch_post: Path):
    DeployRole(stack, "Deploy", assembly=launch_post, repository=REPOSITORY, environment="production")
    found = trust(stack)
    assert found["Action"] == "sts:AssumeRoleWithWebIdentity"
    assert f"oidc-provider/{HOST}" in json.dumps(found["Principal"])
    assert found["Condition"] == {
        "StringEquals": {f"{HOST}:aud": "sts.amazonaws.com", f"{HOST}:sub": f"repo:{REPOSITORY}:environment:production"}
    }


def test_the_pages_example_can_be_deployed_before_the_bootstrap(
    launch_post: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path_factory.mktemp("project")
    (folder / "cdk.out").symlink_to(launch_post, target_is_directory=True)
    monkeypatch.chdir(folder)
    page = (CONSTRUCTS / "deploy-role.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert example is not None
    names: dict[str, Any] = {}
    exec(compile(example[1], "deploy_role.py", "exec"), names)
    made = Path(names["app"].synth().directory)
    text = (made / "fleet-deployment.template.json").read_text(encoding="utf-8")
    assert "BootstrapVersion" not in text
    # The CDK CLI has no bucket to which it could write a larger template.
    assert "AWS::IAM::ManagedPolicy" in text
    assert len(text.encode()) < 51_200
    artifacts = json.loads((made / "manifest.json").read_text(encoding="utf-8"))["artifacts"]
    needing = {"assumeRoleArn", "cloudFormationExecutionRoleArn", "stackTemplateAssetObjectUrl"}
    assert not needing & set(artifacts["fleet-deployment"]["properties"])


def test_a_job_of_the_branch_can_assume_the_role(stack: cdk.Stack, launch_post: Path):
    DeployRole(stack, "Deploy", assembly=launch_post, repository=REPOSITORY, branch="release/1.x", create_provider=True)
    assert trust(stack)["Condition"]["StringEquals"][f"{HOST}:sub"] == f"repo:{REPOSITORY}:ref:refs/heads/release/1.x"
    Template.from_stack(stack).has_resource_properties(
        "AWS::IAM::OIDCProvider", {"Url": f"https://{HOST}", "ClientIdList": ["sts.amazonaws.com"]}
    )


def test_wildcards_on_request(stack: cdk.Stack, launch_post: Path):
    DeployRole(stack, "Deploy", assembly=launch_post, repository="my-org/*", environment="prod", wildcards=True)
    assert trust(stack)["Condition"] == {
        "StringEquals": {f"{HOST}:aud": "sts.amazonaws.com"},
        "StringLike": {f"{HOST}:sub": "repo:my-org/*:environment:prod"},
    }


@pytest.mark.parametrize("repository", ["my-org@1234/my-fleet@5678", "octocat_corp/fleet", "octocat_corp@12/a.b_c@3"])
def test_only_the_subject_of_the_repository_as_written_is_trusted(stack: cdk.Stack, launch_post: Path, repository: str):
    """With ids, the subject without them is not trusted: another one could take a renamed repository's name."""
    DeployRole(stack, "Deploy", assembly=launch_post, repository=repository, environment="production")
    found = trust(stack)["Condition"]
    assert found["StringEquals"][f"{HOST}:sub"] == f"repo:{repository}:environment:production"
    assert set(found) == {"StringEquals"}


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize(
    "name", ["token.actions.my-sub.ghe.com", "token.actions.githubusercontent.com/octocat-inc", HOST]
)
def test_tokens_of_an_issuer_of_an_enterprise_are_trusted(stack: cdk.Stack, launch_post: Path, name: str, create: bool):
    DeployRole(
        stack,
        "Deploy",
        assembly=launch_post,
        repository=REPOSITORY,
        environment="production",
        issuer=f"https://{name}",
        create_provider=create,
    )
    found = trust(stack)
    keys = {f"{name}:aud": "sts.amazonaws.com", f"{name}:sub": f"repo:{REPOSITORY}:environment:production"}
    assert found["Condition"] == {"StringEquals": keys}
    if create:
        Template.from_stack(stack).has_resource_properties("AWS::IAM::OIDCProvider", {"Url": f"https://{name}"})
    else:
        assert f':oidc-provider/{name}"' in json.dumps(found["Principal"])


def session_seconds(stack: cdk.Stack) -> int:
    (role,) = Template.from_stack(stack).find_resources("AWS::IAM::Role").values()
    return role["Properties"]["MaxSessionDuration"]


def test_the_session_that_the_page_requests_is_allowed(stack: cdk.Stack, launch_post: Path):
    """IAM's default is one hour, and deployments take longer."""
    DeployRole(stack, "Deploy", assembly=launch_post, repository=REPOSITORY, environment="production")
    page = (CONSTRUCTS / "deploy-role.md").read_text(encoding="utf-8")
    requested = re.search(r"role-duration-seconds: (\d+)", page)
    assert requested is not None
    assert 3600 < int(requested[1]) <= session_seconds(stack) == 4 * 3600


def test_the_session_is_as_long_as_given(stack: cdk.Stack, launch_post: Path):
    long = cdk.Duration.hours(12)
    DeployRole(
        stack, "Deploy", assembly=launch_post, repository=REPOSITORY, environment="main", max_session_duration=long
    )
    assert session_seconds(stack) == 12 * 3600


@pytest.mark.parametrize("repository", ["my-org@1234/*", "my-org@1234/fleet-*@5678", "my-org/fleet-*"])
def test_wildcards_with_and_without_ids(stack: cdk.Stack, launch_post: Path, repository: str):
    DeployRole(stack, "Deploy", assembly=launch_post, repository=repository, environment="prod", wildcards=True)
    assert trust(stack)["Condition"]["StringLike"] == {f"{HOST}:sub": f"repo:{repository}:environment:prod"}


def test_the_remedy_names_both_forms_of_a_repository(stack: cdk.Stack, launch_post: Path):
    with pytest.raises(FleetError) as caught:
        DeployRole(stack, "Deploy", assembly=launch_post, repository="my-fleet", environment="production")
    (problem,) = caught.value.problems
    assert problem.remedy is not None
    assert "`my-org/my-fleet`" in problem.remedy
    assert "`my-org@1234/my-fleet@5678`" in problem.remedy


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"repository": "my-org/*"}, "LF1250"),
        ({"repository": "*/*", "wildcards": True}, "LF1250"),
        ({"repository": "my-fleet"}, "LF1250"),
        ({"repository": "https://github.com/my-org/my-fleet"}, "LF1250"),
        ({"repository": "my-org/my-fleet:x"}, "LF1250"),
        ({"repository": "my-org@1234/my-fleet"}, "LF1250"),
        ({"repository": "my-org/my-fleet@5678"}, "LF1250"),
        ({"repository": "my-org@1234/my-fleet", "wildcards": True}, "LF1250"),
        ({"repository": "my-org@*/my-fleet@5678", "wildcards": True}, "LF1250"),
        ({"repository": "my-org@id/my-fleet@5678"}, "LF1250"),
        ({"repository": "_corp/my-fleet"}, "LF1250"),
        ({"environment": None}, "LF1251"),
        ({"branch": "main"}, "LF1251"),
        ({"environment": "prod*"}, "LF1251"),
        ({"environment": None, "branch": "*"}, "LF1251"),
        ({"environment": "a:ref:refs/heads/b"}, "LF1251"),
        ({"assembly": "no-such-folder"}, "LF1252"),
        ({"name": "launch-post-deploy"}, "LF1255"),
        ({"permissions_boundary": "our-boundary"}, "LF1256"),
        ({"issuer": "https://github.my-org.com"}, "LF1257"),
        ({"issuer": "token.actions.githubusercontent.com"}, "LF1257"),
        ({"issuer": "https://token.actions.githubusercontent.com/a/b"}, "LF1257"),
        ({"issuer": "https://token.actions.a.b.ghe.com"}, "LF1257"),
        ({"issuer": "https://token.actions.ghe.com.evil.example"}, "LF1257"),
    ],
)
def test_what_is_rejected(stack: cdk.Stack, launch_post: Path, given: dict[str, Any], code: str):
    arguments: dict[str, Any] = {"assembly": launch_post, "repository": REPOSITORY, "environment": "production"}
    with pytest.raises(FleetError) as caught:
        DeployRole(stack, "Deploy", **{**arguments, **given})
    assert [problem.code.value for problem in caught.value.problems] == [code]


def named_role(folder: Path, kind: str, key: str, name: str) -> Path:
    return one(folder, kind, {key: name, "AssumeRolePolicyDocument": {}})


@pytest.mark.parametrize("role", ["deploy", "file-publishing", "image-publishing", "lookup", "cfn-exec"])
def test_a_fleet_cannot_change_the_roles_of_the_bootstrap(stack: cdk.Stack, tmp_path: Path, role: str):
    name = f"cdk-fleet-{role}-role-111122223333-us-west-2"
    folder = named_role(tmp_path, "AWS::IAM::Role", "RoleName", name)
    given: dict[str, Any] = {"assembly": folder, "repository": REPOSITORY, "environment": "production"}
    DeployRole(stack, "Other", **given, name="other")
    with pytest.raises(FleetError) as caught:
        DeployRole(stack, "Deploy", **given, qualifier="fleet")
    (problem,) = caught.value.problems
    assert (problem.code.value, problem.path) == ("LF1255", ("qualifier",))


@pytest.mark.parametrize(("name", "allowed"), [("our-boundary", False), ("team/our-boundary", False), ("b", True)])
def test_a_fleet_cannot_change_its_permissions_boundary(stack: cdk.Stack, tmp_path: Path, name: str, allowed: bool):
    folder = named_role(tmp_path, "AWS::IAM::ManagedPolicy", "ManagedPolicyName", "*our-boundary")
    given: dict[str, Any] = {"assembly": folder, "repository": REPOSITORY, "environment": "production"}
    boundary = f"arn:aws:iam::111122223333:policy/{name}"
    if allowed:
        DeployRole(stack, "Deploy", **given, permissions_boundary=boundary)
        return
    with pytest.raises(FleetError) as caught:
        DeployRole(stack, "Deploy", **given, permissions_boundary=boundary)
    (problem,) = caught.value.problems
    assert (problem.code.value, problem.path) == ("LF1256", ("permissions_boundary",))


def test_a_boundary_of_aws_cannot_be_changed_by_anyone(stack: cdk.Stack, tmp_path: Path):
    folder = named_role(tmp_path, "AWS::IAM::ManagedPolicy", "ManagedPolicyName", "PowerUserAccess")
    boundary = "arn:aws:iam::aws:policy/PowerUserAccess"
    made = DeployRole(
        stack,
        "Deploy",
        assembly=folder,
        repository=REPOSITORY,
        environment="production",
        permissions_boundary=boundary,
    )
    assert made.name == "deploy-fleet-a"


def test_an_assembly_without_stacks_is_rejected(stack: cdk.Stack, tmp_path: Path):
    with pytest.raises(FleetError, match=r"LF1252.*\n.*it has no stacks"):
        DeployRole(stack, "Deploy", assembly=assembly(tmp_path, {}), repository=REPOSITORY, environment="production")


def test_a_type_without_known_actions_needs_them(stack: cdk.Stack, tmp_path: Path):
    folder = one(tmp_path, "AWS::Glue::Database")
    with pytest.raises(FleetError, match="LF1253"):
        DeployRole(stack, "Deploy", assembly=folder, repository=REPOSITORY, environment="production")
    more = {"AWS::Glue::Database": ["glue:CreateDatabase", "glue:DeleteDatabase"]}
    made = DeployRole(
        stack, "Given", assembly=folder, repository=REPOSITORY, environment="production", more_actions=more
    )
    found = statements(made)["GlueAccount"]
    assert found.actions == ("glue:CreateDatabase", "glue:DeleteDatabase")
    assert found.resources == (f"arn:{stack.partition}:glue:us-west-2:111122223333:*",)


def test_more_policies_than_a_role_can_have(stack: cdk.Stack, tmp_path: Path):
    actions = [f"glue:{'Create' * 8}{number}" for number in range(1200)]
    with pytest.raises(FleetError, match="LF1254"):
        DeployRole(
            stack,
            "Deploy",
            assembly=one(tmp_path, "AWS::Glue::Database"),
            repository=REPOSITORY,
            environment="production",
            more_actions={"AWS::Glue::Database": actions},
        )


@pytest.mark.parametrize("example", ["hyperpod-trn1", "parallelcluster-trn1", "inference-inf2", "sagemaker-training"])
def test_limits_of_policies(stack: cdk.Stack, tmp_path: Path, example: str):
    """Sizes as IAM counts them, no change of other roles, and nothing on all resources that need not be."""
    found = (TEMPLATES / example).glob("*.json")
    folder = assembly(tmp_path, {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in found})
    made = DeployRole(stack, "Deploy", assembly=folder, repository=REPOSITORY, environment="production")
    policies = Template.from_stack(stack).find_resources("AWS::IAM::ManagedPolicy").values()
    sizes = [len(json.dumps(each["Properties"]["PolicyDocument"], separators=(",", ":"))) for each in policies]
    assert max(sizes) <= deploy_facts().policy_characters
    own = [f"role/{made.name}", *(f"policy/{each['Properties']['ManagedPolicyName']}" for each in policies)]
    for permission in made.permissions:
        if "*" in permission.resources:
            unscoped = {action for action in permission.actions if not action.endswith(":Describe*")}
            assert unscoped <= action_scopes().none, permission.sid
        for resource in permission.resources:
            if ":iam:" in resource:
                assert re.search(r":iam::\d+:(role|policy|instance-profile)/[\w-]{3}", resource), resource
                assert not any(fnmatchcase(name, resource.split(":", 5)[5]) for name in own), resource


def test_roles_can_be_passed_only_to_services_that_they_trust(stack: cdk.Stack, launch_post: Path):
    made = DeployRole(stack, "Deploy", assembly=launch_post, repository=REPOSITORY, environment="production")
    found = statements(made)["PassRole"]
    assert found.resources == (f"arn:{stack.partition}:iam::111122223333:role/launch-post-*",)
    assert found.conditions == {
        "StringEquals": {
            "iam:PassedToService": ["lambda.amazonaws.com", "sagemaker.amazonaws.com", "vpc-flow-logs.amazonaws.com"]
        }
    }


def test_an_existing_role_can_be_passed_and_a_named_bucket_changed(stack: cdk.Stack, tmp_path: Path):
    role = "arn:aws:iam::111122223333:role/nodes"
    bucket = {"BucketName": {"Fn::Join": ["", ["models-", {"Ref": "AWS::AccountId"}]]}, "Role": role}
    folder = one(tmp_path, "AWS::S3::Bucket", bucket)
    made = DeployRole(stack, "Deploy", assembly=folder, repository=REPOSITORY, environment="production")
    assert statements(made)["PassExistingRole"].resources == (role,)
    assert statements(made)["S3Names"].resources == (f"arn:{stack.partition}:s3:::models-*",)


def test_with_a_boundary_no_role_without_it_can_be_created_or_changed(stack: cdk.Stack, launch_post: Path):
    boundary = "arn:aws:iam::111122223333:policy/boundary"
    made = DeployRole(
        stack,
        "Deploy",
        assembly=launch_post,
        repository=REPOSITORY,
        environment="production",
        permissions_boundary=boundary,
    )
    found = statements(made)
    assert {"iam:CreateRole", "iam:AttachRolePolicy", "iam:PutRolePolicy"} <= set(found["IamBounded"].actions)
    assert found["IamBounded"].conditions == {"StringEquals": {"iam:PermissionsBoundary": boundary}}
    free = {action for sid, each in found.items() if sid != "IamBounded" for action in each.actions}
    assert not free & {*found["IamBounded"].actions, "iam:DeleteRolePermissionsBoundary"}


def test_roles_of_parallelclusters_provider_cannot_have_a_boundary(stack: cdk.Stack, tmp_path: Path):
    url = "https://us-west-2-aws-parallelcluster.s3.us-west-2.amazonaws.com/parallelcluster/3.16.0/templates/x.yaml"
    folder = one(tmp_path, "AWS::CloudFormation::Stack", {"TemplateURL": url})
    made = DeployRole(stack, "Free", assembly=folder, repository=REPOSITORY, environment="production")
    assert any(arn.endswith(":role/ParallelClusterLambdaRole-*") for arn in statements(made)["IamNames"].resources)
    boundary = "arn:aws:iam::111122223333:policy/boundary"
    with pytest.raises(FleetError, match="LF1256"):
        DeployRole(
            stack,
            "Bound",
            assembly=folder,
            repository=REPOSITORY,
            environment="production",
            permissions_boundary=boundary,
        )


def test_every_type_that_can_create_a_service_linked_role_has_its_principal_or_a_reason():
    creating = {kind for kind in types() if "iam:CreateServiceLinkedRole" in (deployment_actions(kind) or ())}
    assert len(creating) > 15
    exempt = deploy_facts().not_service_linked
    assert sorted(kind for kind in creating if not service_linked(kind)) == sorted(exempt)
    assert all(len(reason.split()) > 3 for reason in exempt.values())
    keys = {*types(), *(kind.split("::")[1] for kind in types())}
    assert set(deploy_facts().service_linked) <= keys


@pytest.mark.parametrize(
    ("kind", "principals"),
    [
        ("AWS::SageMaker::Cluster", ["hyperpod.sagemaker.amazonaws.com"]),
        ("AWS::SageMaker::Domain", ["elasticfilesystem.amazonaws.com", "sagemaker.amazonaws.com"]),
        ("AWS::Chatbot::SlackChannelConfiguration", ["management.chatbot.amazonaws.com"]),
        ("AWS::Grafana::Workspace", ["grafana.amazonaws.com"]),
        ("AWS::EC2::FlowLog", ["delivery.logs.amazonaws.com"]),
    ],
)
def test_only_the_service_linked_roles_of_a_type_can_be_created(
    stack: cdk.Stack, tmp_path: Path, kind: str, principals: list[str]
):
    made = DeployRole(stack, "Deploy", assembly=one(tmp_path, kind), repository=REPOSITORY, environment="production")
    found = statements(made)["ServiceLinkedRoles"]
    assert found.conditions == {"StringEquals": {"iam:AWSServiceName": principals}}
    assert "DataRepositoryRoles" not in statements(made)


def test_types_without_a_service_linked_role_cannot_create_one(stack: cdk.Stack, tmp_path: Path):
    folder = one(tmp_path, "AWS::DynamoDB::Table")
    made = DeployRole(stack, "Deploy", assembly=folder, repository=REPOSITORY, environment="production")
    assert not [each for each in made.permissions if "iam:CreateServiceLinkedRole" in each.actions]


def test_fsx_can_write_the_policies_of_its_own_role_for_a_bucket(stack: cdk.Stack, tmp_path: Path):
    folder = one(tmp_path, "AWS::FSx::DataRepositoryAssociation")
    made = DeployRole(stack, "Deploy", assembly=folder, repository=REPOSITORY, environment="production")
    writing = [each for each in made.permissions if "iam:PutRolePolicy" in each.actions]
    assert [(each.sid, each.actions, each.resources) for each in writing] == [
        (
            "DataRepositoryRoles",
            ("iam:AttachRolePolicy", "iam:CreateServiceLinkedRole", "iam:PutRolePolicy"),
            (
                f"arn:{stack.partition}:iam::111122223333:role/aws-service-role/"
                "s3.data-source.lustre.fsx.amazonaws.com/*",
            ),
        )
    ]


def test_names_of_a_fleet(tmp_path: Path):
    """Generated names keep 24 characters of the stack's name; secrets end in characters of their own."""
    bodies: dict[str, Any] = {
        "Role": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {}}},
        "Named": {"Type": "AWS::SecretsManager::Secret", "Properties": {"Name": "reader"}},
        "Made": {"Type": "AWS::SecretsManager::Secret", "Properties": {}},
        "Reads": {"Type": "Custom::Thing", "Properties": {"Password": "{{resolve:secretsmanager:admin:SecretString}}"}},
    }
    parameters = {"Image": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/aws/service/image"}}
    long = "a-fleet-with-a-name-that-is-too-long-to-be-kept"
    found = FleetTemplates.read(assembly(tmp_path, {long: {"Resources": bodies, "Parameters": parameters}}))
    assert found.names["iam"] == ("iam::{account}:role/a-fleet-with-a-name-that*",)
    assert found.names["secretsmanager"] == (
        "secretsmanager:{region}:{account}:secret:Made*",
        "secretsmanager:{region}:{account}:secret:a-fleet-with-a-name-that*",
        "secretsmanager:{region}:{account}:secret:reader-*",
    )
    assert found.secrets == ("admin",)
    assert found.parameters == ("/aws/service/image",)
    assert found.custom


def test_check_and_plan_can_read_all_that_they_query():
    folder = ROOT / "constructs" / "llm_fleet" / "cli" / "check"
    source = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py")))
    called = set(re.findall(r'\(\s*"([a-z0-9-]+)",\s*"((?:describe|list|get)_[a-z_]+)"', source))
    assert len(called) > 15
    allowed = {action.replace("servicequotas", "service-quotas").lower() for action in deploy_facts().check_actions}
    # Secret values are not for a CI: `check` reports a gated model as not checked.
    exempt = {("secretsmanager", "get_secret_value"), ("sts", "get_caller_identity")}
    missing = [
        f"{service}:{call}" for service, call in called - exempt if f"{service}:{call.replace('_', '')}" not in allowed
    ]
    assert missing == []


def test_the_members_of_a_resource_group_can_be_listed():
    """ListGroupResources also needs what it calls: https://docs.aws.amazon.com/ARG/latest/APIReference/."""
    needed = {"resource-groups:ListGroupResources", "cloudformation:DescribeStacks", "tag:GetResources"}
    assert {*needed, "cloudformation:ListStackResources"} <= set(deploy_facts().check_actions)


def test_no_checker_finds_anything(app: cdk.App, stack: cdk.Stack, launch_post: Path):
    DeployRole(
        stack,
        "Deploy",
        assembly=launch_post,
        repository=REPOSITORY,
        environment="production",
        create_provider=True,
        permissions_boundary="arn:aws:iam::111122223333:policy/boundary",
    )
    assert all_findings(app) == []


def test_the_golden_template_is_unchanged(stack: cdk.Stack, launch_post: Path):
    made = DeployRole(stack, "Deploy", assembly=launch_post, repository=REPOSITORY, environment="production")
    text = json.dumps(Template.from_stack(stack).to_json(), indent=1) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), (
        "the template has changed: read the difference, then run `make golden`"
    )
    permissions = describe(made.permissions).replace(stack.partition, "aws")
    check_made(CONSTRUCTS / "deploy-role.md", statements=permissions)
