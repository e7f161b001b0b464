"""Studio: domain, permissions of users, errors, and findings of checkers."""

import base64
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam

from llm_fleet import (
    ExistingLustre,
    FleetError,
    FleetNetwork,
    InternetAccess,
    LustreFileSystem,
    NetworkSpec,
    StudioDomain,
    StudioSignIn,
    StudioSpec,
    StudioUser,
)
from llm_fleet.catalog.notebook import studio_facts
from tests.clean import nag_findings
from tests.made_networks import existing_network
from tests.sagemaker.studios import CLUSTER, TYPES, ZONES, Synthesized, everything


def test_a_domain_is_in_the_vpc_only_and_encrypted(plain: Synthesized):
    domain = plain.domain
    assert (domain["AppNetworkAccessType"], domain["AuthMode"]) == ("VpcOnly", "IAM")
    assert len(domain["SubnetIds"]) == 2
    assert domain["KmsKeyId"] == {"Fn::GetAtt": [next(iter(plain.of_type("AWS::KMS::Key"))), "Arn"]}
    assert domain["HomeEfsFileSystemCreation"] == "Disabled"
    assert plain.settings["AutoMountHomeEFS"] == "Disabled"
    assert plain.settings["SharingSettings"] == {"NotebookOutputOption": "Disabled"}
    assert (plain.settings["StudioWebPortal"], plain.settings["DefaultLandingUri"]) == ("ENABLED", "studio::")
    hidden = plain.settings["StudioWebPortalSettings"]
    assert {"JupyterServer", "TensorBoard"} <= set(hidden["HiddenAppTypes"])
    assert "HiddenInstanceTypes" not in hidden
    (domain_id,) = plain.of_type("AWS::SageMaker::Domain")
    assert plain.template["Resources"][domain_id]["DeletionPolicy"] == "Delete"


@pytest.mark.parametrize("application", ["JupyterLabAppSettings", "CodeEditorAppSettings"])
def test_idle_applications_are_stopped_and_users_cannot_change_this(plain: Synthesized, application: str):
    idle = plain.settings[application]["AppLifecycleManagement"]["IdleSettings"]
    assert idle == {
        "LifecycleManagement": "ENABLED",
        "IdleTimeoutInMinutes": 60,
        "MinIdleTimeoutInMinutes": 60,
        "MaxIdleTimeoutInMinutes": 60,
    }


def test_shared_spaces_have_the_settings_of_private_ones(full: Synthesized):
    shared, private = full.domain["DefaultSpaceSettings"], full.settings
    for name in ("ExecutionRole", "SecurityGroups", "JupyterLabAppSettings", "SpaceStorageSettings"):
        assert shared[name] == private[name]
    assert shared["CustomFileSystemConfigs"] == private["CustomFileSystemConfigs"]


def test_the_file_system_is_mounted_from_its_subnet(full: Synthesized):
    (mounted,) = full.settings["CustomFileSystemConfigs"]
    (file_system,) = [name for name, one in full.template["Resources"].items() if one["Type"] == "AWS::FSx::FileSystem"]
    assert mounted == {"FSxLustreFileSystemConfig": {"FileSystemId": {"Ref": file_system}, "FileSystemPath": "/"}}
    assert full.domain["SubnetIds"] == full.template["Resources"][file_system]["Properties"]["SubnetIds"]
    group = full.settings["SecurityGroups"][0]["Fn::GetAtt"][0]
    rules = [
        one["Properties"]
        for one in full.template["Resources"].values()
        if one["Type"] == "AWS::EC2::SecurityGroupEgress"
        and one["Properties"]["GroupId"] == {"Fn::GetAtt": [group, "GroupId"]}
    ]
    assert {rule["FromPort"] for rule in rules} == {988, 1018, 2049}


def test_no_ingress_is_allowed(plain: Synthesized):
    group = plain.only("AWS::EC2::SecurityGroup")
    assert "SecurityGroupIngress" not in group
    assert [(rule["CidrIp"], rule["FromPort"]) for rule in group["SecurityGroupEgress"]] == [("0.0.0.0/0", 443)]
    assert plain.of_type("AWS::EC2::SecurityGroupIngress") == {}


def test_home_directories_are_retained_when_the_stack_is_deleted(full: Synthesized):
    # With all dependencies of the domain: SageMaker does not delete a script of an existing domain.
    resources = {name: one for name, one in full.template["Resources"].items() if name.startswith("Studio")}
    assert {one["DeletionPolicy"] for one in resources.values()} <= {"Retain", "RetainExceptOnCreate"}
    # A replaced script is deleted: otherwise its name would be in use if the text is used again.
    scripts = [one for one in resources.values() if one["Type"] == "AWS::SageMaker::StudioLifecycleConfig"]
    assert [one["UpdateReplacePolicy"] for one in scripts] == ["Delete", "Delete"]
    (subnet,) = (one["Ref"] for one in full.domain["SubnetIds"])
    assert full.template["Resources"][subnet]["DeletionPolicy"].startswith("Retain")
    assert full.settings["AutoMountHomeEFS"] == "Enabled"
    assert "TensorBoard" not in full.settings["StudioWebPortalSettings"]["HiddenAppTypes"]


def test_users_have_the_same_ids_as_on_the_clusters(full: Synthesized):
    ids = {name: one["UserSettings"]["CustomPosixUserConfig"] for name, one in full.profiles.items()}
    assert ids == {"alice": {"Uid": 10001, "Gid": 10001}, "bob": {"Uid": 10002, "Gid": 3000}}


def test_a_user_without_ids_has_those_of_the_service(plain: Synthesized):
    assert "CustomPosixUserConfig" not in plain.profiles["alice"]["UserSettings"]


def test_only_allowed_instance_types_are_offered(full: Synthesized):
    hidden = full.settings["StudioWebPortalSettings"]["HiddenInstanceTypes"]
    assert not set(hidden) & set(TYPES)
    shown = set(studio_facts().instances) - set(hidden) - set(TYPES)
    assert {name.split(".")[1] for name in shown} == set(studio_facts().unknown_to_cloudformation)


def test_repositories_are_offered(full: Synthesized):
    (offered,) = full.settings["JupyterLabAppSettings"]["CodeRepositories"]
    assert offered == {"RepositoryUrl": "https://github.com/huggingface/notebooks.git"}


def test_each_application_has_a_script_within_the_size_limit(full: Synthesized):
    configs = full.of_type("AWS::SageMaker::StudioLifecycleConfig")
    kinds = {one["StudioLifecycleConfigAppType"]: name for name, one in configs.items()}
    assert set(kinds) == {"JupyterLab", "CodeEditor"}
    for kind, name in kinds.items():
        arn = {"Fn::GetAtt": [name, "StudioLifecycleConfigArn"]}
        assert full.settings[f"{kind}AppSettings"]["LifecycleConfigArns"] == [arn]
        assert full.settings[f"{kind}AppSettings"]["DefaultResourceSpec"]["LifecycleConfigArn"] == arn
        config = configs[name]
        assert re.fullmatch(r"Lab-Studio-[\w-]*-[0-9a-f]{8}", config["StudioLifecycleConfigName"])
        assert "Tags" not in config
        script = json.dumps(config["StudioLifecycleConfigContent"])
        assert len(base64.b64encode(script.encode())) < (studio_facts().script_characters.maximum or 0)


def test_another_script_has_another_name(plain: Synthesized, full: Synthesized):
    names = [
        {one["StudioLifecycleConfigName"] for one in made.of_type("AWS::SageMaker::StudioLifecycleConfig").values()}
        for made in (plain, full)
    ]
    assert not names[0] & names[1]


def text(value: Any) -> str:
    return json.dumps(value)


def test_users_can_manage_only_their_own_spaces_in_the_domain(plain: Synthesized):
    statements = plain.statements()
    spaces = statements["OwnSpaces"]
    assert set(spaces["Action"]) == {f"sagemaker:{verb}Space" for verb in ("Create", "Delete", "Update")}
    owners = spaces["Condition"]["ArnLike"]["sagemaker:OwnerUserProfileArn"]
    assert all("user-profile/" in text(owner) and "*" not in text(owner) for owner in owners)
    for sid in ("OwnSpaces", "OwnAppsStart", "SharedAppsStart", "StudioOpen", "SpaceTags"):
        assert "DomainId" in text(statements[sid]["Resource"]), sid
    assert "*" not in text(statements["StudioOpen"]["Resource"])
    assert "ClusterList" not in statements
    assert "FileSystem" not in statements


def test_applications_can_write_their_logs(plain: Synthesized):
    group, streams = plain.statements()["StudioLogGroup"], plain.statements()["StudioLog"]
    assert group["Action"] == ["logs:CreateLogGroup", "logs:DescribeLogStreams"]
    assert [one.partition(":log-group:")[2] for one in group["Resource"]] == [
        "/aws/sagemaker/studio",
        "/aws/sagemaker/studio:*",
    ]
    assert streams["Action"] == ["logs:CreateLogStream", "logs:PutLogEvents"]
    assert "log-group:/aws/sagemaker/studio:log-stream:" in text(streams["Resource"])
    assert "DomainId" in text(streams["Resource"])


def test_the_role_denies_other_instance_types(plain: Synthesized, full: Synthesized):
    for sid in ("OwnAppsStart", "SharedAppsStart"):
        condition = full.statements()[sid]["Condition"]
        assert condition["ForAllValues:StringEquals"] == {"sagemaker:InstanceTypes": TYPES}
        assert condition["Null"] == {"sagemaker:InstanceTypes": "false"}
        assert "Null" not in plain.statements()[sid]["Condition"]


def test_cloudtrail_records_the_user(plain: Synthesized):
    (role,) = [
        one for one in plain.of_type("AWS::IAM::Role").values() if one["Description"] == "Users of SageMaker Studio"
    ]
    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert set(trust["Action"]) == {"sts:AssumeRole", "sts:SetSourceIdentity"}
    assert trust["Principal"] == {"Service": "sagemaker.amazonaws.com"}
    assert plain.domain["DomainSettings"] == {"ExecutionRoleIdentityConfig": "USER_PROFILE_NAME"}


def test_users_can_connect_only_to_the_given_clusters(plain: Synthesized, full: Synthesized):
    assert plain.of_type("AWS::IAM::Policy") == {}
    (policy,) = full.of_type("AWS::IAM::Policy").values()
    starts = [one for one in policy["PolicyDocument"]["Statement"] if one["Action"] == "ssm:StartSession"]
    hyperpod, parallel = (next(one for one in starts if mark in text(one)) for mark in (CLUSTER, "resourceTag"))
    assert CLUSTER in hyperpod["Resource"]
    assert parallel["Condition"] == {"StringEquals": {"ssm:resourceTag/parallelcluster:cluster-name": "parallel"}}
    assert {"ClusterList", "FileSystem"} <= set(full.statements())


def test_a_role_can_open_studio_as_one_user(plain: Synthesized):
    studio = plain.construct
    someone = iam.User(studio, "Someone")
    assert studio.grants.open(someone, user="alice").success
    with pytest.raises(FleetError, match=r"LF119[\s\S]*write `alice`"):
        studio.grants.open(someone, user="alise")


ALICE = StudioUser(uid=10001)
NEXT_TO = ("network", "lustre", "clusters", "buckets", "encryption_key")


def problems(stack: cdk.Stack, **arguments: Any) -> dict[str, tuple[str, str]]:
    """Codes and remedies, by path."""
    if "network" not in arguments:
        arguments["network"] = existing_network(stack)
    before = len(stack.node.children)
    next_to = {name: arguments.pop(name) for name in NEXT_TO if name in arguments}
    with pytest.raises(FleetError) as caught:
        StudioDomain(stack, "Studio", StudioSpec(**arguments), **next_to)
    assert len(stack.node.children) == before
    return {problem.where: (problem.code.value, problem.remedy) for problem in caught.value.problems}


@pytest.mark.parametrize(
    ("arguments", "where", "code"),
    [
        ({"network": None}, "network", "LF903"),
        ({"domain_name": "my_lab"}, "domain_name", "LF900"),
        ({"instance_type": "ml.p3.2xlarge"}, "instance_type", "LF901"),
        ({"instance_type": "t3.medium"}, "instance_type", "LF902"),
        ({"allowed_instance_types": ["ml.g5.xlarge", "ml.inf2.xlarge"]}, "allowed_instance_types[1]", "LF902"),
        ({"allowed_instance_types": ["ml.g5.xlarge"]}, "instance_type", "LF117"),
        ({"idle_minutes": 30}, "idle_minutes", "LF920"),
        ({"volume_gib": 2}, "volume_gib", "LF921"),
        ({"volume_gib": 200}, "volume_gib", "LF921"),
        ({"users": {"alice_b": StudioUser()}}, "users.alice_b", "LF900"),
        ({"users": {"alice": StudioUser(uid=2001)}}, "users.alice.uid", "LF922"),
        ({"users": {"alice": StudioUser(gid=3000)}}, "users.alice.gid", "LF922"),
        ({"users": {"alice": ALICE, "Alice": StudioUser()}}, "users.Alice", "LF924"),
        ({"users": {"alice": ALICE, "bob": StudioUser(uid=10001)}}, "users.bob.uid", "LF924"),
        ({"users": {"alice": StudioUser(identity="a@b.c")}}, "users.alice.identity", "LF925"),
        ({"users": {"alice": ALICE}, "sign_in": StudioSignIn.SSO}, "users.alice.identity", "LF925"),
        ({"code_repositories": ["git@github.com:huggingface/notebooks.git"]}, "code_repositories[0]", "LF928"),
        ({"code_repositories": ["https://me:secret@git.example.com/a.git"]}, "code_repositories[0]", "LF928"),
        ({"code_repositories": [f"https://git.example.com/{n}" for n in range(11)]}, "code_repositories", "LF928"),
        ({"pins": ["sagemaker"]}, "pins[0]", "LF917"),
        ({"name_prefixes": [""]}, "name_prefixes[0]", "LF919"),
        ({"network": "vpc-1"}, "network", "LF113"),
        ({"lustre": "fs-1"}, "lustre", "LF113"),
        ({"clusters": ["train"]}, "clusters[0]", "LF113"),
        ({"clusters": "train"}, "clusters", "LF113"),
        ({"encryption_key": "arn:aws:kms:…"}, "encryption_key", "LF113"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_mistake_is_reported(stack: cdk.Stack, arguments: dict[str, Any], where: str, code: str):
    found = problems(stack, **arguments)
    assert found[where][0] == code
    assert len(found) == 1
    assert found[where][1]


def test_all_problems_are_reported_together(stack: cdk.Stack):
    users = {"a b": StudioUser(uid=1), "c": StudioUser(identity="c")}
    found = problems(stack, users=users, idle_minutes=1, volume_gib=1, instance_type="ml.x")
    assert set(found) == {
        "users.a b",
        "users.a b.uid",
        "users.c.identity",
        "idle_minutes",
        "volume_gib",
        "instance_type",
    }


@pytest.fixture
def lustre(stack: cdk.Stack) -> Callable[..., Any]:
    def make(zone: str | None) -> Any:
        return LustreFileSystem.from_attributes(
            stack,
            "Fsx",
            ExistingLustre(file_system_id="fs-0123456789abcdef0", mount_name="abcdefgh", availability_zone_id=zone),
        )

    return make


def test_a_file_system_must_be_in_an_az_of_the_domain(stack: cdk.Stack, lustre: Callable[..., Any]):
    assert problems(stack, lustre=lustre("usw2-az2"))["lustre"][0] == "LF926"


def test_sagemakers_own_internet_leads_to_no_file_system(stack: cdk.Stack, lustre: Callable[..., Any]):
    found = problems(stack, lustre=lustre(None), internet=True, lustre_directory="data files")
    assert {where: code for where, (code, _) in found.items()} == {"internet": "LF926", "lustre_directory": "LF926"}


def test_studio_in_a_closed_network_cannot_have_internet_access(stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=ZONES, internet=InternetAccess.NONE))
    assert problems(stack, network=network, internet=True)["internet"][0] == "LF929"


def test_users_must_fit_the_addresses_of_the_subnets(stack: cdk.Stack):
    network = FleetNetwork(
        stack, "Network", NetworkSpec(availability_zone_ids=ZONES, cidr="10.0.0.0/24", compute_cidr="10.1.0.0/26")
    )
    found = problems(stack, network=network, users={f"user{n}": StudioUser() for n in range(10)})
    assert {code for code, _ in found.values()} == {"LF220"}


def test_a_file_system_in_an_unknown_az_is_mounted_from_all_subnets(stack: cdk.Stack, lustre: Callable[..., Any]):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=ZONES))
    studio = StudioDomain(stack, "Studio", network=network, lustre=lustre(None))
    assert len(cdk.Stack.of(studio).resolve(studio.resource.subnet_ids)) == 2


GOLDEN = Path(__file__).parent / "golden" / "studio.json"
HASH = re.compile(r"(?<=jupyterlab-|codeeditor-)[0-9a-f]{8}\b")
"""Replace the text of a script, which other tests check."""
SCRIPT = re.compile(r'"#!/bin/bash[^\n]*"')


def test_nag_finds_nothing_and_the_golden_template_is_unchanged(app: cdk.App, stack: cdk.Stack):
    """A changed logical id replaces the domain, and with it the spaces of all users."""
    everything(stack).add_outputs()
    assert nag_findings(app) == []
    template = app.synth().get_stack_by_name(stack.stack_name).template
    own = {
        section: {name: body for name, body in template[section].items() if name.startswith("Studio")}
        for section in ("Resources", "Outputs")
    }
    text = SCRIPT.sub('"<script>"', HASH.sub("<hash>", json.dumps(own, indent=1))) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text(), "the template has changed: read the difference, then run `make golden`"
