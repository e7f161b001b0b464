"""The function that checks models, with moto's S3 and a stand-in for CloudFormation."""

import json
import time
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws
from mypy_boto3_s3 import S3Client

from llm_fleet.lifecycle.model_checker import handler as module
from llm_fleet.lifecycle.model_checker.handler import handler
from tests.lifecycle.model_checker.models import OPTIMUM, REQUESTED, files_of

BUCKET, PREFIX = "my-models", "tanuki-8b"


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Client]:
    """One for all tests: no test changes the objects of another."""
    monkeypatch = pytest.MonkeyPatch()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket=BUCKET)
        _put(client, PREFIX, files_of(neuron_config=OPTIMUM))
        yield client
    monkeypatch.undo()


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The responses to CloudFormation."""
    received: list[Any] = []

    def send(event: dict[str, Any], answer: Any) -> None:
        received.append(answer)

    monkeypatch.setattr(module, "send", send)
    return received


def _stubbed(monkeypatch: pytest.MonkeyPatch, client: Any) -> list[float]:
    """Make the function use `client`, and return a list of its waits, which do not take time."""
    waited: list[float] = []

    def made(*_: object, **__: object) -> Any:
        return client

    monkeypatch.setattr(module.boto3, "client", made)
    monkeypatch.setattr(time, "sleep", waited.append)
    return waited


@pytest.mark.parametrize("kind", ["Create", "Update"])
def test_a_valid_model_is_answered_with_its_location(s3: S3Client, answers: list[Any], kind: str):
    handler(_event(kind), None)
    (answer,) = answers
    assert answer.failure is None
    assert answer.data == {"Place": "s3://my-models/tanuki-8b"}
    assert answer.physical_id == "model-check-Check"


def test_an_update_keeps_its_id(s3: S3Client, answers: list[Any]):
    handler({**_event("Update"), "PhysicalResourceId": "as-it-was"}, None)
    assert answers[0].physical_id == "as-it-was"


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"Prefix": "tanuki"}, "model-missing: s3://my-models/tanuki is empty or does not exist;"),
        (
            {"Requested": json.dumps({**REQUESTED, "tensor_parallel": 8})},
            "model-mismatch: s3://my-models/tanuki-8b was",
        ),
        ({"Bucket": "gone"}, "model-unreachable: s3://gone/tanuki-8b cannot be read"),
        ({"Requested": "{"}, "JSONDecodeError"),
        ({"Bucket": None}, "KeyError"),
    ],
    ids=["next to it", "mismatch", "no bucket", "no JSON", "no bucket named"],
)
def test_a_failure_has_a_reason(s3: S3Client, answers: list[Any], properties: dict[str, Any], words: str):
    handler(_event("Create", **properties), None)
    (answer,) = answers
    assert answer.failure is not None
    assert words in answer.failure


def test_a_prefix_is_a_folder_and_not_the_beginning_of_a_name(s3: S3Client, answers: list[Any]):
    _put(s3, "tanuki-8b-old", files_of(compiled=False))
    handler(_event("Create", Prefix="tanuki-8"), None)
    assert answers[0].failure.startswith("model-missing")


def test_the_whole_bucket_can_be_the_model(s3: S3Client, answers: list[Any]):
    s3.create_bucket(Bucket="whole")
    _put(s3, "", files_of(neuron_config=OPTIMUM), bucket="whole")
    handler(_event("Create", Bucket="whole", Prefix=""), None)
    assert (answers[0].failure, answers[0].data) == (None, {"Place": "s3://whole"})


def test_deletion_checks_nothing(answers: list[Any]):
    handler({**_event("Delete"), "PhysicalResourceId": "as-it-was"}, None)
    assert (answers[0].failure, answers[0].physical_id) == (None, "as-it-was")


def test_the_function_waits_until_the_policy_is_in_effect(monkeypatch: pytest.MonkeyPatch, answers: list[Any]):
    client = boto3.client("s3", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
    waited = _stubbed(monkeypatch, client)
    with Stubber(client) as stub:
        stub.add_client_error("list_objects_v2", "AccessDenied", "not yet")
        stub.add_client_error("list_objects_v2", "AccessDenied", "not yet")
        stub.add_response("list_objects_v2", {"Contents": []})
        handler(_event("Create"), None)
        stub.assert_no_pending_responses()
    assert waited == [1, 2]
    assert answers[0].failure.startswith("model-missing")


def test_access_that_stays_denied_is_reported_with_a_hint(monkeypatch: pytest.MonkeyPatch, answers: list[Any]):
    client = boto3.client("s3", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
    waited = _stubbed(monkeypatch, client)
    with Stubber(client) as stub:
        for _ in range(6):
            stub.add_client_error("list_objects_v2", "AccessDenied", "no")
        handler(_event("Create"), None)
    assert waited == [1, 2, 4, 8, 15]
    assert "AccessDenied: no" in answers[0].failure
    assert "VPC endpoint" in answers[0].failure


def _event(kind: str, **changed: Any) -> dict[str, Any]:
    properties = {"Bucket": BUCKET, "Prefix": PREFIX, "Requested": json.dumps(REQUESTED), **changed}
    return {
        "RequestType": kind,
        "LogicalResourceId": "Check",
        "ResourceProperties": {name: value for name, value in properties.items() if value is not None},
    }


def _put(s3: S3Client, prefix: str, files: dict[str, bytes], *, bucket: str = BUCKET) -> None:
    for name, data in files.items():
        s3.put_object(Bucket=bucket, Key=f"{prefix}/{name}".lstrip("/"), Body=data)
