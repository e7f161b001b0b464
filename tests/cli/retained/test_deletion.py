"""What AWS answers only outside the local emulation: backups of users, objects and buckets that stay."""

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from llm_fleet.cli.clients import AwsClients
from llm_fleet.cli.retained.deletion import Deletion, delete, without_tagged
from llm_fleet.cli.retained.listing import print_deletion, print_list
from llm_fleet.cli.retained.survey import Description, Retained, Survey
from llm_fleet.cli.retained.traces import Trace
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.rules.feature_codes import CommandCode
from llm_fleet.rules.problem import Problem

_KEY = "1234abcd-12ab-34cd-56ef-1234567890ab"
_ARN = f"arn:aws:kms:us-west-2:111122223333:key/{_KEY}"


def _denied(operation: str) -> ClientError:
    return ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, operation)


def _deletion(kind: str, id: str, services: dict[str, Any]) -> Deletion:
    trace = Trace(resource_type="", id=id, logical_id="", stack="train-storage", since=None)
    item = Retained(kind=kind, trace=trace, described=Description(), fleet="train")
    clients = SimpleNamespace(client=services.__getitem__, sts=services.get("sts"))
    return delete(cast(AwsClients, clients), Survey(items=(item,), stacks=(), problems=()))


def _codes(deletion: Deletion) -> list[str]:
    return [problem.code.value for problem in deletion.problems]


class _Backups:
    """FSx, RDS, CloudWatch Logs and KMS, with one thing in the answer of `call`."""

    def __init__(self, call: str = "", found: dict[str, str] | None = None, refused: str = "") -> None:
        self._call, self._found, self._refused = call, found, refused
        self.scheduled: list[str] = []

    def get_paginator(self, name: str) -> Any:
        answer = {
            "describe_backups": "Backups",
            "describe_db_snapshots": "DBSnapshots",
            "describe_db_cluster_snapshots": "DBClusterSnapshots",
            "describe_log_groups": "logGroups",
        }[name]

        def paginate() -> list[dict[str, Any]]:
            if name == self._refused:
                raise _denied(name)
            return [{answer: []}, {answer: [self._found] if name == self._call else []}]

        return SimpleNamespace(paginate=paginate)

    def schedule_key_deletion(self, KeyId: str, PendingWindowInDays: int) -> None:
        assert PendingWindowInDays == 30
        self.scheduled.append(KeyId)

    def describe_key(self, KeyId: str) -> dict[str, Any]:
        assert KeyId == "alias/train"
        return {"KeyMetadata": {"KeyId": _KEY}}

    def deletion(self) -> Deletion:
        return _deletion("KMS key", _KEY, {"fsx": self, "rds": self, "logs": self, "kms": self})


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("describe_backups", "BackupId"),
        ("describe_db_snapshots", "DBSnapshotIdentifier"),
        ("describe_db_cluster_snapshots", "DBClusterSnapshotIdentifier"),
        ("describe_log_groups", "logGroupName"),
    ],
)
@pytest.mark.parametrize("key", [_KEY, _ARN, "alias/train"])
def test_a_key_of_a_backup_or_log_group_is_kept(call: str, name: str, key: str):
    member = "kmsKeyId" if call == "describe_log_groups" else "KmsKeyId"
    aws = _Backups(call, {name: "mine", member: key})
    deletion = aws.deletion()
    assert (aws.scheduled, _codes(deletion)) == ([], ["LF1235"])
    assert deletion.problems[0].value == "mine"
    other = _Backups(call, {name: "mine", member: _ARN[:-1] + "0"})
    assert (other.deletion().problems, other.scheduled) == ((), [_KEY])


@pytest.mark.parametrize("call", ["describe_backups", "describe_db_snapshots", "describe_log_groups"])
def test_a_key_is_kept_if_its_backups_cannot_be_queried(call: str):
    aws = _Backups(refused=call)
    deletion = aws.deletion()
    assert (aws.scheduled, _codes(deletion), len(deletion.kept)) == ([], ["LF1004"], 1)


class _Bucket:
    """S3 and STS: a bucket with `objects`, of which some stay, and in which `late` objects arrive one by one."""

    exceptions = SimpleNamespace(ClientError=ClientError)

    def __init__(self, objects: list[str], errors: dict[str, str] | None = None, late: int = 0) -> None:
        self.objects, self._errors, self._late = objects, errors or {}, late
        self.exists = True

    def get_caller_identity(self) -> dict[str, str]:
        return {"Account": "111122223333"}

    def get_paginator(self, name: str) -> Any:
        def paginate(Bucket: str, ExpectedBucketOwner: str) -> list[dict[str, Any]]:
            assert (Bucket, ExpectedBucketOwner) == ("data", "111122223333")
            if name == "list_multipart_uploads":
                return [{}]
            assert name == "list_object_versions"
            return [{"Versions": [{"Key": key, "VersionId": "1"}]} for key in self.objects]

        return SimpleNamespace(paginate=paginate)

    def delete_objects(self, Bucket: str, ExpectedBucketOwner: str, Delete: dict[str, Any]) -> dict[str, Any]:
        assert (Bucket, ExpectedBucketOwner) == ("data", "111122223333")
        keys = [one["Key"] for one in Delete["Objects"]]
        self.objects = [key for key in self.objects if key not in keys or key in self._errors]
        failed = [{"Key": key, "Code": self._errors[key], "Message": "Kept"} for key in keys if key in self._errors]
        return {"Errors": failed} if failed else {}

    def delete_bucket(self, Bucket: str, ExpectedBucketOwner: str) -> None:
        assert (Bucket, ExpectedBucketOwner) == ("data", "111122223333")
        if self._late:
            self._late -= 1
            self.objects.append(f"log-{self._late}")
        if self.objects:
            raise ClientError({"Error": {"Code": "BucketNotEmpty", "Message": "not empty"}}, "DeleteBucket")
        self.exists = False

    def deletion(self) -> Deletion:
        return _deletion("bucket", "data", {"s3": self, "sts": self})


@pytest.mark.parametrize(("code", "expected"), [("AccessDenied", "LF1004"), ("NotImplemented", "LF1009")])
def test_objects_that_s3_keeps_are_reported(code: str, expected: str):
    aws = _Bucket(["one", "locked", "two"], {"locked": code})
    deletion = aws.deletion()
    assert (_codes(deletion), aws.exists, aws.objects, len(deletion.kept)) == ([expected], True, ["locked"], 1)
    assert "Kept: 1 object, e.g. locked" in deletion.problems[0].message


def test_logs_that_arrive_during_the_deletion_are_deleted_too(monkeypatch: pytest.MonkeyPatch):
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    aws = _Bucket(["one"], late=3)
    deletion = aws.deletion()
    assert (deletion.problems, aws.exists, len(waits)) == ((), False, 3)
    busy = _Bucket(["one"], late=100)
    deletion = busy.deletion()
    assert (_codes(deletion), busy.exists, len(deletion.kept)) == (["LF1009"], True, 1)
    assert deletion.problems[0].remedy == "run the command again later"


def test_a_resource_that_only_its_tag_connects_with_the_fleet_is_deleted_only_by_its_id() -> None:
    """A stack of another app may have had the same name."""
    items = tuple(
        Retained(
            kind="bucket",
            trace=Trace(resource_type="", id=id, logical_id="", stack="train-storage", since=since),
            described=Description(),
            fleet="train",
        )
        for id, since in (("by-event", datetime(2026, 11, 1, tzinfo=UTC)), ("by-tag", None))
    )
    found = Survey(items=items, stacks=(), problems=())
    sure, problems = without_tagged(found, only=[])
    assert [item.id for item in sure.items] == ["by-event"]
    assert [item.id for item in sure.others] == ["by-tag"]
    assert [(problem.code.value, problem.value) for problem in problems] == [("LF1234", "by-tag")]
    # Not among the calls that AWS refused, which would be the reason why keys are kept.
    assert sure.problems == ()
    assert without_tagged(found, only=["by-tag"]) == (found, [])


@pytest.mark.parametrize(
    ("resource_type", "scheduled"), [("AWS::IAM::Role", [_KEY]), ("AWS::DynamoDB::Table", list[str]())]
)
def test_a_retained_role_does_not_need_the_key(resource_type: str, scheduled: list[str]):
    aws = _Backups()
    trace = Trace(resource_type="", id=_KEY, logical_id="", stack="train-storage", since=None)
    key = Retained(kind="KMS key", trace=trace, described=Description(), fleet="train")
    other = Retained(kind=resource_type, trace=replace(trace, id="runs"), described=Description(), fleet="train")
    services: dict[str, Any] = {"fsx": aws, "rds": aws, "logs": aws, "kms": aws}
    clients = cast(AwsClients, SimpleNamespace(client=services.__getitem__))
    delete(clients, Survey(items=(key,), others=(other,), stacks=(), problems=()))
    assert aws.scheduled == scheduled


def test_only_the_file_systems_of_a_vpc_keep_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("llm_fleet.cli.retained.deletion.others_in", lambda *_: set[str]())  # pyright: ignore

    def item(kind: str, id: str, vpc: str) -> Retained:
        trace = Trace(resource_type="", id=id, logical_id="", stack="train-storage", since=None)
        facts = {"VpcId": vpc, "FileSystemType": "LUSTRE"}
        return Retained(kind=kind, trace=trace, described=Description(facts=facts), fleet="train")

    deleted: list[str] = []

    class Services:
        def delete_file_system(self, FileSystemId: str) -> None:
            raise _denied("DeleteFileSystem")

        def delete_vpc(self, VpcId: str) -> None:
            deleted.append(VpcId)

    clients = cast(AwsClients, SimpleNamespace(client=lambda _: Services()))  # pyright: ignore
    items = (item("file system", "fs-1", "vpc-1"), item("VPC", "vpc-1", ""), item("VPC", "vpc-2", ""))
    deletion = delete(clients, Survey(items=items, stacks=(), problems=()))
    assert deleted == ["vpc-2"]
    (problem,) = (one for one in deletion.problems if one.code.value == "LF1233")
    assert ("vpc-1" in problem.message, problem.value) == (True, "fs-1")
    assert "not in the list" not in problem.message


def test_a_refused_call_is_printed_once(capsys: pytest.CaptureFixture[str]):
    refused = Problem(code=CommandCode.REFUSED, message="no", remedy="")
    found = Survey(items=(), stacks=(), problems=(refused,))
    print_list(found, cast(Fleet, SimpleNamespace(name="train", region="us-west-2")), as_json=False)
    deletion = Deletion(deleted=(), kept=(), problems=(refused,))
    print_deletion(deletion, found, as_json=False)
    assert capsys.readouterr().err.count("LF1009") == 1
    print_deletion(deletion, found, as_json=True)
    assert capsys.readouterr().out.count("LF1009") == 1
