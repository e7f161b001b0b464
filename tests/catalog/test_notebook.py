"""The facts of notebooks and Studio, compared with botocore's models."""

import re
from functools import cache
from typing import Any

import botocore.session
import pytest

from llm_fleet.catalog.notebook import notebook_facts, studio_facts
from llm_fleet_local.aws.resources.schemas import schema_of


@pytest.fixture(scope="module")
def members() -> Any:
    session: Any = botocore.session.Session()
    return session.get_service_model("sagemaker").operation_model("CreateNotebookInstance").input_shape.members


def test_instance_types_are_those_of_the_service_without_retired_families(members: Any):
    facts = notebook_facts()
    names = set(members["InstanceType"].enum)
    retired = {name for name in names if name.split(".")[1] in facts.retired_families}
    assert set(facts.instance_type_names) == names - retired
    assert {name.split(".")[1] for name in retired} == set(facts.retired_families) - {"g3"}, "g3 was never in the model"
    assert set(facts.retired_families.values()) <= set(facts.instance_type_names), "successors live"
    assert facts.default_instance_type in facts.instance_type_names


def test_platforms_are_those_of_the_service(members: Any):
    facts = notebook_facts()
    platforms = set(re.findall(r"notebook-[a-z0-9-]+", members["PlatformIdentifier"].metadata["pattern"]))
    assert platforms == set(facts.platforms) | set(facts.undocumented_platforms)
    schema = schema_of("AWS::SageMaker::NotebookInstance") or {}
    known = set(re.findall(r"notebook-[a-z0-9-]+", schema["properties"]["PlatformIdentifier"]["pattern"]))
    assert known == set(facts.platforms), "platforms that CloudFormation's schema has added may be documented by now"
    assert {one.successor for one in facts.platforms.values() if one.ended} == {facts.default_platform}


def test_limits_are_those_of_the_service(members: Any):
    facts = notebook_facts()
    volume = members["VolumeSizeInGB"].metadata
    assert (facts.volume_gib.min, facts.volume_gib.max) == (volume["min"], volume["max"])
    assert facts.name_max == members["NotebookInstanceName"].metadata["max"]
    assert facts.additional_repositories_max == members["AdditionalCodeRepositories"].metadata["max"]
    assert facts.repository_url_max == members["DefaultCodeRepository"].metadata["max"]
    session: Any = botocore.session.Session()
    hook = session.get_service_model("sagemaker").shape_for("NotebookInstanceLifecycleHook").members["Content"]
    assert facts.script_characters_max == hook.metadata["max"]


NOT_FOR_SPACES = {"system", "ml.geospatial.interactive"}


@cache
def model() -> Any:
    session: Any = botocore.session.get_session()
    return session.get_service_model("sagemaker")


def test_instances_are_those_of_the_api():
    assert set(studio_facts().instances) | NOT_FOR_SPACES == set(model().shape_for("AppInstanceType").enum)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("idle_minutes", "IdleTimeoutInMinutes"),
        ("volume_gib", "SpaceEbsVolumeSizeInGb"),
        ("uid", "Uid"),
        ("gid", "Gid"),
        ("script_characters", "StudioLifecycleConfigContent"),
    ],
)
def test_bounds_are_those_of_the_api(name: str, shape: str):
    limit, metadata = getattr(studio_facts(), name), model().shape_for(shape).metadata
    assert (limit.minimum, limit.maximum) == (metadata["min"], metadata["max"])


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("domain_name", "DomainName"),
        ("user_name", "UserProfileName"),
        ("script_name", "StudioLifecycleConfigName"),
        ("lustre_directory", "FileSystemPath"),
        ("repository_url", "RepositoryUrl"),
    ],
)
def test_patterns_are_those_of_the_api(name: str, shape: str):
    limit, metadata = getattr(studio_facts(), name), model().shape_for(shape).metadata
    assert (limit.maximum, limit.pattern) == (metadata["max"], metadata["pattern"])


def test_families_missing_in_cloudformation_are_listed():
    schema: Any = schema_of("AWS::SageMaker::Domain")
    known = schema["definitions"]["AppInstanceType"]["enum"]
    unknown = {name.split(".")[1] for name in studio_facts().instances if name not in known}
    assert unknown == set(studio_facts().unknown_to_cloudformation)


def test_the_maximum_number_of_repositories_is_that_of_the_api():
    assert studio_facts().repositories == model().shape_for("CodeRepositories").metadata["max"]


def test_defaults_are_within_the_limits():
    facts = studio_facts()
    assert facts.default_instance in facts.instances
    assert facts.idle_minutes.holds(facts.default_idle_minutes)
    assert facts.volume_gib.holds(facts.default_volume_gib)
    assert facts.default_volume_gib <= facts.default_maximum_volume_gib
    assert facts.uid.holds(facts.example_uid)
    retired = set(facts.retired_families)
    assert all(
        name in facts.instances and name.split(".")[1] not in retired for name in facts.retired_families.values()
    )
