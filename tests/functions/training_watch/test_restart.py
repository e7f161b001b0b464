"""The restart's request has all members that the service returns for the job, and is valid."""

from typing import Any

import botocore.session
import pytest
from botocore.validate import validate_parameters

from llm_fleet.functions.training_watch.decide import JobFacts
from llm_fleet.functions.training_watch.follow_job import CARRIED, NameTaken, create, restart_request
from tests.functions.training_watch.memory_aws import MemorySageMaker

_ROLE = "arn:aws:iam::111122223333:role/trains"


def _shape(name: str) -> Any:
    session: Any = botocore.session.get_session()
    return session.get_service_model("sagemaker").shape_for(name)


def test_every_common_member_is_copied() -> None:
    requested, reported = _shape("CreateTrainingJobRequest").members, _shape("DescribeTrainingJobResponse").members
    assert set(CARRIED) == set(requested) & set(reported) - {"TrainingJobName"}


def test_members_of_both_sides_are_of_one_shape() -> None:
    requested, reported = _shape("CreateTrainingJobRequest").members, _shape("DescribeTrainingJobResponse").members
    assert all(requested[name].name == reported[name].name for name in CARRIED)


def _facts(**words: Any) -> JobFacts:
    description: dict[str, Any] = {
        "TrainingJobName": "job",
        "TrainingJobArn": "arn:aws:sagemaker:us-west-2:111122223333:training-job/job",
        "RoleArn": _ROLE,
        "AlgorithmSpecification": {"TrainingImage": "image", "TrainingInputMode": "File"},
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/out"},
        "ResourceConfig": {"InstanceCount": 1, "VolumeSizeInGB": 1, "KeepAlivePeriodInSeconds": 60},
        "StoppingCondition": {"MaxRuntimeInSeconds": 5},
        "CheckpointConfig": {"S3Uri": "s3://bucket/base", "LocalPath": "/opt/ml/checkpoints"},
        "HyperParameters": {},
        "TrainingJobStatus": "Failed",
        **words,
    }
    return JobFacts(description=description, tags={"team": "research", "aws:made-by": "x"})


def test_the_request_is_valid() -> None:
    request = restart_request(_facts(), "job-r1", None)
    validate_parameters(request, _shape("CreateTrainingJobRequest"))
    assert request["TrainingJobName"] == "job-r1"
    assert request["CheckpointConfig"]["S3Uri"] == "s3://bucket/base"
    assert "HyperParameters" not in request
    assert "TrainingJobStatus" not in request


def test_another_checkpoint_uri_keeps_the_path_on_the_instance() -> None:
    request = restart_request(_facts(), "job-r1", "s3://bucket/base/job-r1")
    assert request["CheckpointConfig"] == {"S3Uri": "s3://bucket/base/job-r1", "LocalPath": "/opt/ml/checkpoints"}


def test_read_only_members_are_omitted() -> None:
    chosen = {"InstanceCount": 1, "SelectedInstanceType": "ml.g5.xlarge", "SelectedInstanceCount": 1}
    assert restart_request(_facts(ResourceConfig=chosen), "job-r1", None)["ResourceConfig"] == {"InstanceCount": 1}


def _tags(facts: JobFacts) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in restart_request(facts, "job-r1", None)["Tags"]}


def test_tags_are_copied_and_identify_the_series() -> None:
    assert _tags(_facts()) == {
        "team": "research",
        "llm-fleet:after": "job",
        "llm-fleet:attempt": "1",
        "llm-fleet:root": "job",
    }


def test_the_watchs_tags_have_priority() -> None:
    facts = JobFacts(description=_facts().description, tags={f"tag-{n}": "x" for n in range(50)})
    tags = _tags(facts)
    assert len(tags) == 50
    assert tags["llm-fleet:root"] == "job"


def test_an_existing_successor_is_accepted() -> None:
    sagemaker: Any = MemorySageMaker()
    request = restart_request(_facts(), "job-r1", None)
    create(sagemaker, _facts(), request)
    create(sagemaker, _facts(), request)
    assert list(sagemaker.jobs) == ["job-r1"]


def test_another_job_with_the_name_is_not_accepted() -> None:
    sagemaker: Any = MemorySageMaker()
    request = restart_request(_facts(), "job-r1", None)
    sagemaker.create_training_job(**{**request, "Tags": []})
    with pytest.raises(NameTaken):
        create(sagemaker, _facts(), request)
