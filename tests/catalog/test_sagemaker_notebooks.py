"""The catalog of notebook instances is that of botocore's model, and of CloudFormation's schema."""

import re
from typing import Any

import botocore.session
import pytest

from llm_fleet.catalog.sagemaker_notebooks import notebook_facts
from local.aws.resources.schemas import schema_of


@pytest.fixture(scope="module")
def members() -> Any:
    session: Any = botocore.session.Session()
    return session.get_service_model("sagemaker").operation_model("CreateNotebookInstance").input_shape.members


def test_instance_types_are_those_of_the_service_without_what_no_living_platform_runs(members: Any):
    facts = notebook_facts()
    told = set(members["InstanceType"].enum)
    retired = {name for name in told if name.split(".")[1] in facts.retired_families}
    assert set(facts.instance_type_names) == told - retired
    assert {name.split(".")[1] for name in retired} == set(facts.retired_families) - {"g3"}, "g3 was never in the model"
    assert set(facts.retired_families.values()) <= set(facts.instance_type_names), "successors live"
    assert facts.default_instance_type in facts.instance_type_names


def test_platforms_are_those_of_the_service(members: Any):
    facts = notebook_facts()
    told = set(re.findall(r"notebook-[a-z0-9-]+", members["PlatformIdentifier"].metadata["pattern"]))
    assert told == set(facts.platforms) | set(facts.undocumented_platforms)
    schema = schema_of("AWS::SageMaker::NotebookInstance") or {}
    known = set(re.findall(r"notebook-[a-z0-9-]+", schema["properties"]["PlatformIdentifier"]["pattern"]))
    assert known == set(facts.platforms), "what CloudFormation's schema takes since may be documented by now"
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
