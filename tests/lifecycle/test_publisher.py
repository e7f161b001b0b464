"""The function that publishes bundles, with moto's S3 and a stand-in for CloudFormation."""

import hashlib
import io
import json
import threading
import time
import zipfile
from collections.abc import Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from moto import mock_aws
from mypy_boto3_s3 import S3Client

from llm_fleet.lifecycle.publisher import handler as publisher
from llm_fleet.lifecycle.publisher.handler import PublishError, Request, handler, publish

ASSETS, TARGET = "assets", "sagemaker-demo"
ROOT = "bundles/demo/train"
FILES = {"on_init_complete.sh": b"#!/bin/bash\n", "pkg/a.py": b"print(1)\n", "b.txt": b"b\n"}


@pytest.fixture(scope="module")
def clients() -> Any:
    """A cache of clients, also for the handler: creating a client takes long."""
    return cache(boto3.Session().client)


@pytest.fixture
def s3(clients: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Client]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        monkeypatch.setattr(boto3, "client", clients)
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket=ASSETS)
        client.create_bucket(Bucket=TARGET)
        client.put_object(Bucket=ASSETS, Key="scripts.zip", Body=_zip(FILES))
        yield client


@pytest.fixture
def cloudformation() -> Iterator["_CloudFormation"]:
    with _CloudFormation() as listening:
        yield listening


def test_create_publishes_every_file_and_answers_with_its_uri(s3: S3Client, cloudformation: "_CloudFormation") -> None:
    handler(cloudformation.request("Create", _properties()), None)
    answer = cloudformation.answers[0]
    assert answer["Status"] == "SUCCESS", answer["Reason"]
    prefix = answer["Data"]["Prefix"]
    assert answer["Data"]["SourceS3Uri"] == f"s3://{TARGET}/{prefix}/"
    assert prefix.startswith(f"bundles/demo/train/{'c' * 16}-")
    assert _keys(s3) == {f"{prefix}/{path}" for path in (*FILES, "fleet.json", "SHA256SUMS")}
    for path, data in FILES.items():
        assert _get(s3, f"{prefix}/{path}") == data


def test_the_checksum_list_covers_the_scripts_and_the_manifest(s3: S3Client) -> None:
    prefix = publish(s3, _request()).prefix
    lines = [line.split("  ") for line in _get(s3, f"{prefix}/SHA256SUMS").decode().splitlines()]
    sums = {path: digest for digest, path in lines}
    assert sums == {path: hashlib.sha256(_get(s3, f"{prefix}/{path}")).hexdigest() for path in (*FILES, "fleet.json")}


def test_the_manifest_has_the_values_of_the_deployment_and_comes_last(s3: S3Client) -> None:
    sent = _watch_uploads(s3)
    prefix = publish(s3, _request()).prefix
    assert sent[-1]["Key"] == f"{prefix}/fleet.json"
    assert json.loads(_get(s3, f"{prefix}/fleet.json")) == {"dns": "fs-1.example", "content_hash": "c" * 64}


def test_publishing_again_changes_nothing(s3: S3Client) -> None:
    first = publish(s3, _request())
    before = {key: _get(s3, key) for key in _keys(s3)}
    assert publish(s3, _request()) == first
    assert {key: _get(s3, key) for key in _keys(s3)} == before


def test_a_changed_value_creates_a_new_prefix_and_keeps_the_old_one(
    s3: S3Client, cloudformation: "_CloudFormation"
) -> None:
    handler(cloudformation.request("Create", _properties()), None)
    handler(cloudformation.request("Update", _properties(Manifest='{"dns": "fs-2.example"}')), None)
    old, new = (answer["Data"]["Prefix"] for answer in cloudformation.answers)
    assert old != new
    assert {key.rsplit("/", 1)[0] for key in _keys(s3) if key.endswith("fleet.json")} == {old, new}
    assert len({answer["PhysicalResourceId"] for answer in cloudformation.answers}) == 1


def test_an_update_publishes_new_scripts_next_to_the_old_ones(s3: S3Client, cloudformation: "_CloudFormation") -> None:
    handler(cloudformation.request("Create", _properties()), None)
    changed = FILES | {"b.txt": b"B\n"}
    s3.put_object(Bucket=ASSETS, Key="new.zip", Body=_zip(changed))
    properties = _properties(SourceKey="new.zip", ContentHash="d" * 64, ChecksumsSha256=_sums_hash(changed))
    handler(cloudformation.request("Update", properties), None)
    old, new = (answer["Data"]["Prefix"] for answer in cloudformation.answers)
    assert (_get(s3, f"{old}/b.txt"), _get(s3, f"{new}/b.txt")) == (b"b\n", b"B\n")


def test_the_response_has_the_digest_of_the_checksum_list(s3: S3Client, cloudformation: "_CloudFormation") -> None:
    handler(cloudformation.request("Create", _properties()), None)
    data = cloudformation.answers[0]["Data"]
    assert data["ChecksumsSha256"] == hashlib.sha256(_get(s3, f"{data['Prefix']}/SHA256SUMS")).hexdigest()
    assert not {"EntryS3Uri", "PointerS3Uri"} & set(data)


def test_entry_and_pointer_are_written_after_the_bundle_the_pointer_last(
    s3: S3Client, cloudformation: "_CloudFormation"
) -> None:
    sent = _watch_uploads(s3)
    published = publish(s3, Request.read(_properties(Entry="on_init_complete.sh")))
    keys = [one["Key"] for one in sent]
    assert keys[-3:] == [f"{published.prefix}/fleet.json", f"{ROOT}/on_init_complete.sh", f"{ROOT}/current"]
    assert _get(s3, keys[-2]) == FILES["on_init_complete.sh"]
    assert _get(s3, keys[-1]).decode() == f"s3://{TARGET}/{published.prefix} {published.checksums_sha256}\n"
    handler(cloudformation.request("Create", _properties(Entry="on_init_complete.sh")), None)
    data = cloudformation.answers[0]["Data"]
    assert (data["EntryS3Uri"], data["PointerS3Uri"]) == tuple(f"s3://{TARGET}/{key}" for key in keys[-2:])


def test_an_update_moves_the_pointer_a_rollback_moves_it_back_and_delete_leaves_it(
    s3: S3Client, cloudformation: "_CloudFormation"
) -> None:
    changed = FILES | {"on_init_complete.sh": b"#!/bin/bash\nexit 0\n"}
    s3.put_object(Bucket=ASSETS, Key="new.zip", Body=_zip(changed))
    old = _properties(Entry="on_init_complete.sh")
    new = old | {"SourceKey": "new.zip", "ContentHash": "d" * 64, "ChecksumsSha256": _sums_hash(changed)}
    seen: list[tuple[bytes, bytes]] = []
    for kind, properties in (("Create", old), ("Update", new), ("Update", old), ("Delete", old)):
        handler(cloudformation.request(kind, properties), None)
        seen.append((_get(s3, f"{ROOT}/current"), _get(s3, f"{ROOT}/on_init_complete.sh")))
    first, updated, rolled_back, deleted = seen
    assert [answer["Status"] for answer in cloudformation.answers] == ["SUCCESS"] * 4
    assert (b"dddddddddddddddd-" in updated[0], updated[1]) == (True, changed["on_init_complete.sh"])
    assert first == rolled_back == deleted != updated


def test_a_failed_upload_leaves_the_pointer_on_the_old_bundle(s3: S3Client, cloudformation: "_CloudFormation") -> None:
    properties = _properties(Entry="on_init_complete.sh")
    handler(cloudformation.request("Create", properties), None)
    before = _get(s3, f"{ROOT}/current")
    broken = properties | {"ContentHash": "d" * 64, "Entry": "missing.sh"}
    handler(cloudformation.request("Update", broken), None)
    assert cloudformation.answers[-1]["Status"] == "FAILED"
    assert "lack missing.sh" in cloudformation.answers[-1]["Reason"]
    assert _get(s3, f"{ROOT}/current") == before


def test_delete_keeps_every_object(s3: S3Client, cloudformation: "_CloudFormation") -> None:
    handler(cloudformation.request("Create", _properties()), None)
    before = _keys(s3)
    event = cloudformation.request("Delete", _properties()) | {"PhysicalResourceId": "as-it-was"}
    handler(event, None)
    assert cloudformation.answers[-1]["Status"] == "SUCCESS"
    assert cloudformation.answers[-1]["PhysicalResourceId"] == "as-it-was"
    assert _keys(s3) == before


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"SourceKey": "gone.zip"}, "cannot read the archive of scripts at s3://assets/gone.zip: NoSuchKey"),
        ({"ChecksumsSha256": "0" * 64}, "are not those that were synthesized"),
        ({"Bucket": "sagemaker-gone"}, "cannot write s3://sagemaker-gone/bundles/demo/train/"),
        ({"Manifest": '{"dns": "a"b"}'}, "a value that was filled in at deploy time broke the manifest"),
        ({"Root": None}, "the request lacks the property 'Root'"),
    ],
    ids=["missing archive", "other scripts", "missing bucket", "broken manifest", "missing property"],
)
def test_a_failure_has_its_reason(
    s3: S3Client, cloudformation: "_CloudFormation", changed: dict[str, str | None], reason: str
) -> None:
    properties = {name: value for name, value in (_properties() | changed).items() if value is not None}
    handler(cloudformation.request("Create", properties), None)
    (answer,) = cloudformation.answers
    assert answer["Status"] == "FAILED"
    assert reason in answer["Reason"]
    assert answer["PhysicalResourceId"]
    assert not [key for key in _keys(s3) if key.endswith("fleet.json")]


def test_an_invalid_archive_is_reported(s3: S3Client) -> None:
    s3.put_object(Bucket=ASSETS, Key="scripts.zip", Body=b"not a zip")
    with pytest.raises(PublishError, match="cannot be unpacked"):
        publish(s3, _request())


def test_an_unexpected_error_is_answered_too(
    s3: S3Client, cloudformation: "_CloudFormation", monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> bytes:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr(publisher, "_fetch", broken)
    handler(cloudformation.request("Create", _properties()), None)
    assert cloudformation.answers[0]["Reason"] == "ZeroDivisionError: on purpose"


def test_a_long_reason_is_shortened_to_the_limit_of_cloudformation(
    cloudformation: "_CloudFormation", s3: S3Client
) -> None:
    handler(cloudformation.request("Create", _properties(SourceKey="x" * 3000)), None)
    assert cloudformation.answers[0]["Status"] == "FAILED"
    assert len(cloudformation.answers[0]["Reason"]) <= 1000


def test_the_function_waits_until_the_policy_is_in_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    waited = _without_waiting(monkeypatch)
    client = boto3.client("s3", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
    with Stubber(client) as stub:
        stub.add_client_error("get_object", "AccessDenied", "not yet")
        stub.add_client_error("get_object", "NoSuchKey", "then answered")
        with pytest.raises(PublishError, match="NoSuchKey: then answered"):
            publish(client, _request())
        stub.assert_no_pending_responses()
    assert waited == [1]


def test_the_function_waits_until_the_key_policy_is_in_effect(s3: S3Client, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = _without_waiting(monkeypatch)
    denied = ClientError({"Error": {"Code": "AccessDenied", "Message": "kms:GenerateDataKey"}}, "PutObject")
    put, rejections = s3.put_object, [denied, denied]

    def reject_at_first(**params: Any) -> Any:
        if rejections and params["Key"].endswith("/SHA256SUMS"):
            raise rejections.pop()
        return put(**params)

    monkeypatch.setattr(s3, "put_object", reject_at_first)
    publish(s3, _request())
    assert waited == [1, 2]


def test_objects_after_one_that_cannot_be_written_are_not_tried(s3: S3Client, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"scripts/{number}.sh": b"echo" for number in range(100)}
    s3.put_object(Bucket=ASSETS, Key="scripts.zip", Body=_zip(files))
    tried: list[str] = []

    def deny(**params: Any) -> Any:
        tried.append(params["Key"])
        time.sleep(0.01)
        raise ClientError({"Error": {"Code": "NoSuchBucket", "Message": "gone"}}, "PutObject")

    monkeypatch.setattr(s3, "put_object", deny)
    with pytest.raises(PublishError, match=r"cannot write s3://.*: NoSuchBucket: gone"):
        publish(s3, Request.read(_properties(ChecksumsSha256=_sums_hash(files))))
    assert len(tried) < 30


def test_access_that_stays_denied_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    waited = _without_waiting(monkeypatch)
    client = boto3.client("s3", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
    with Stubber(client) as stub:
        for _ in range(6):
            stub.add_client_error("get_object", "AccessDenied", "no")
        with pytest.raises(PublishError, match=r"s3://assets/scripts.zip: AccessDenied: no"):
            publish(client, _request())
    assert len(waited) == 5


def test_s3_verifies_the_checksum_of_each_upload(s3: S3Client) -> None:
    sent = _watch_uploads(s3)
    publish(s3, _request())
    assert len(sent) == len(FILES) + 2
    assert all(len(params["ChecksumSHA256"]) == 44 for params in sent)


class _CloudFormation:
    """Receives the responses of a custom resource."""

    def __init__(self) -> None:
        self.answers: list[dict[str, Any]] = []
        answers = self.answers

        class Put(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                # CloudFormation signs the URL for an empty content type; S3 rejects any other.
                assert self.headers["Content-Type"] == ""
                answers.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Put)

    def __enter__(self) -> "_CloudFormation":
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def request(self, kind: str, properties: dict[str, Any]) -> dict[str, Any]:
        return {
            "RequestType": kind,
            "ResponseURL": f"http://127.0.0.1:{self._server.server_port}/answer",
            "StackId": "arn:aws:cloudformation:us-east-1:111122223333:stack/a/b",
            "RequestId": "1",
            "LogicalResourceId": "Bundle",
            "ResourceProperties": properties,
        }


def _properties(**changed: str) -> dict[str, Any]:
    return {
        "SourceBucket": ASSETS,
        "SourceKey": "scripts.zip",
        "Bucket": TARGET,
        "Root": "bundles/demo/train",
        "ContentHash": "c" * 64,
        "ChecksumsSha256": _sums_hash(FILES),
        "Manifest": json.dumps({"dns": "fs-1.example", "content_hash": "c" * 64}),
    } | changed


def _request() -> Request:
    return Request.read(_properties())


def _sums_hash(files: dict[str, bytes]) -> str:
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {path}\n" for path, data in sorted(files.items()))
    return hashlib.sha256(sums.encode()).hexdigest()


def _zip(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return buffer.getvalue()


def _keys(s3: S3Client) -> set[str]:
    return {item.get("Key", "") for item in s3.list_objects_v2(Bucket=TARGET).get("Contents", [])}


def _get(s3: S3Client, key: str) -> bytes:
    return s3.get_object(Bucket=TARGET, Key=key)["Body"].read()


def _watch_uploads(s3: S3Client) -> list[dict[str, Any]]:
    """Return a list that fills with the parameters of each upload."""
    sent: list[dict[str, Any]] = []

    def note(params: dict[str, Any], **_: Any) -> None:
        sent.append(dict(params))

    s3.meta.events.register("before-parameter-build.s3.PutObject", note)
    return sent


def _without_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []
    monkeypatch.setattr(publisher.time, "sleep", waited.append)
    return waited
