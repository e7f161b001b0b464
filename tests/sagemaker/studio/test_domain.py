"""What a domain is in the template: private, idle applications end, and what is mounted stands where it can be."""

import base64
import json
import re

import pytest

from llm_fleet.catalog.studio import studio_facts
from tests.sagemaker.studio.conftest import TYPES, Synthesized


def test_a_domain_is_in_the_vpc_alone_and_encrypted(plain: Synthesized):
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
def test_idle_applications_end_and_nobody_can_choose_otherwise(plain: Synthesized, application: str):
    idle = plain.settings[application]["AppLifecycleManagement"]["IdleSettings"]
    assert idle == {
        "LifecycleManagement": "ENABLED",
        "IdleTimeoutInMinutes": 60,
        "MinIdleTimeoutInMinutes": 60,
        "MaxIdleTimeoutInMinutes": 60,
    }


def test_shared_spaces_have_what_private_ones_have(full: Synthesized):
    shared, private = full.domain["DefaultSpaceSettings"], full.settings
    for name in ("ExecutionRole", "SecurityGroups", "JupyterLabAppSettings", "SpaceStorageSettings"):
        assert shared[name] == private[name]
    assert shared["CustomFileSystemConfigs"] == private["CustomFileSystemConfigs"]


def test_the_file_system_is_mounted_where_it_stands(full: Synthesized):
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


def test_nothing_is_let_in(plain: Synthesized):
    group = plain.only("AWS::EC2::SecurityGroup")
    assert "SecurityGroupIngress" not in group
    assert [(rule["CidrIp"], rule["FromPort"]) for rule in group["SecurityGroupEgress"]] == [("0.0.0.0/0", 443)]
    assert plain.of_type("AWS::EC2::SecurityGroupIngress") == {}


def test_home_directories_stay_when_the_stack_goes(full: Synthesized):
    # With all that the domain works with: SageMaker refuses to delete a script of a domain that is there.
    resources = {name: one for name, one in full.template["Resources"].items() if name.startswith("Studio")}
    assert {one["DeletionPolicy"] for one in resources.values()} <= {"Retain", "RetainExceptOnCreate"}
    # Not so the script that another one has taken the place of: its name would be taken when its text comes back.
    scripts = [one for one in resources.values() if one["Type"] == "AWS::SageMaker::StudioLifecycleConfig"]
    assert [one["UpdateReplacePolicy"] for one in scripts] == ["Delete", "Delete"]
    (subnet,) = (one["Ref"] for one in full.domain["SubnetIds"])
    assert full.template["Resources"][subnet]["DeletionPolicy"].startswith("Retain")
    assert full.settings["AutoMountHomeEFS"] == "Enabled"
    assert "TensorBoard" not in full.settings["StudioWebPortalSettings"]["HiddenAppTypes"]


def test_files_are_the_same_persons_as_on_the_clusters(full: Synthesized):
    ids = {name: one["UserSettings"]["CustomPosixUserConfig"] for name, one in full.profiles.items()}
    assert ids == {"alice": {"Uid": 10001, "Gid": 10001}, "bob": {"Uid": 10002, "Gid": 3000}}


def test_who_has_no_ids_has_those_of_the_service(plain: Synthesized):
    assert "CustomPosixUserConfig" not in plain.profiles["alice"]["UserSettings"]


def test_only_what_is_allowed_is_offered(full: Synthesized):
    hidden = full.settings["StudioWebPortalSettings"]["HiddenInstanceTypes"]
    assert not set(hidden) & set(TYPES)
    shown = set(studio_facts().instances) - set(hidden) - set(TYPES)
    assert {name.split(".")[1] for name in shown} == set(studio_facts().unknown_to_cloudformation)


def test_repositories_are_offered(full: Synthesized):
    (offered,) = full.settings["JupyterLabAppSettings"]["CodeRepositories"]
    assert offered == {"RepositoryUrl": "https://github.com/huggingface/notebooks.git"}


def test_each_application_has_a_script_of_its_kind_that_fits(full: Synthesized):
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
