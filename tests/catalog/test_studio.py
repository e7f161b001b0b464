"""The facts about Studio, compared with AWS's own models."""

from functools import cache
from typing import Any

import botocore.session
import pytest

from llm_fleet.catalog.studio import studio_facts
from local.aws.resources.schemas import schema_of

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
    limit, told = getattr(studio_facts(), name), model().shape_for(shape).metadata
    assert (limit.minimum, limit.maximum) == (told["min"], told["max"])


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
def test_forms_are_those_of_the_api(name: str, shape: str):
    limit, told = getattr(studio_facts(), name), model().shape_for(shape).metadata
    assert (limit.maximum, limit.pattern) == (told["max"], told["pattern"])


def test_what_cloudformation_does_not_know_yet_is_told():
    schema: Any = schema_of("AWS::SageMaker::Domain")
    known = schema["definitions"]["AppInstanceType"]["enum"]
    unknown = {name.split(".")[1] for name in studio_facts().instances if name not in known}
    assert unknown == set(studio_facts().unknown_to_cloudformation)


def test_as_many_repositories_as_the_service_takes():
    assert studio_facts().repositories == model().shape_for("CodeRepositories").metadata["max"]


def test_what_is_chosen_is_allowed():
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
