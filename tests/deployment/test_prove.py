"""`llm-fleet prove` in a local emulation: it leaves nothing behind, whatever happens to a run."""

import json
import shutil
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.catalog.experiments import experiments
from llm_fleet.cli.clients import AwsClients
from llm_fleet.cli.main import main
from llm_fleet.cli.prove import aws_answers, experiment, proving, undo_journal
from llm_fleet.cli.prove.aws_answers import Answer
from llm_fleet.cli.prove.undo_journal import UndoJournal
from llm_fleet_local.aws.client import LocalAws
from tests.deployment.conftest import synthesize
from tests.deployment.what_is_there import what_is_there
from tools.synth_environment import ROOT

Capture = pytest.CaptureFixture[str]
_EXAMPLE = ROOT / "examples" / "hyperpod-small.yaml"
_ONE_CLAIM = "log-bucket-policy-after-target"


@pytest.fixture(scope="module")
def aws() -> Generator[LocalAws]:
    with LocalAws(region="us-west-2") as started:
        started.bootstrap()
        yield started


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fleet, synthesized once."""
    return synthesize(tmp_path_factory.mktemp("prove") / "cdk.out", _EXAMPLE)


@pytest.fixture
def fleet(aws: LocalAws, assembly: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """A fleet file that is not deployed. After the test nothing may be in the account that was not there before."""
    for name, value in aws.environment.items():
        monkeypatch.setenv(name, value)

    def copy(file: Path, folder: Path, *, account: str | None = None) -> None:
        shutil.copytree(assembly, folder)

    monkeypatch.setattr(proving, "synthesize", copy)
    monkeypatch.setattr(proving, "experiments", lambda: {_ONE_CLAIM: experiments()[_ONE_CLAIM]})
    monkeypatch.setattr(aws_answers, "MOST_DELAY", 0.1)
    file = tmp_path / "fleet.yaml"
    file.write_text(_EXAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
    before = _everything(aws)
    yield file
    assert _everything(aws) == before


def _everything(aws: LocalAws) -> Mapping[str, Any]:
    buckets = [one["Name"] for one in aws.client("s3").list_buckets()["Buckets"]]
    return {**what_is_there(aws), "all buckets": buckets, "stacks": [stack["name"] for stack in aws.stacks()]}


def _proven(file: Path, capsys: Capture, *words: str, code: int = 0) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["prove", str(file), "--yes", "--json", *words]) == code
    return json.loads(capsys.readouterr().out)


def test_stacks_are_validated_and_planned(fleet: Path, capsys: Capture):
    report = _proven(fleet, capsys)
    stacks = {row["id"]: row for row in report["stacks"]}
    assert {row["outcome"] for row in stacks.values()} == {"proven"}
    calls = {name: [call["call"] for call in row["calls"]] for name, row in stacks.items()}
    # The storage stack imports the network's values, so CloudFormation cannot plan it alone.
    assert "cloudformation:CreateChangeSet" in calls["stack first-try-network"]
    assert calls["stack first-try-storage"][-1] == "cloudformation:ValidateTemplate"
    (planned,) = [
        one for one in stacks["stack first-try-network"]["calls"] if one["call"].endswith("DescribeChangeSet")
    ]
    assert planned["value"] > 10, "resources"
    assert all(call["request_id"] and call["time"] for row in stacks.values() for call in row["calls"])
    assert report["left"] == []


def test_the_report_is_a_page_without_the_account(fleet: Path, capsys: Capture):
    report = _proven(fleet, capsys)
    folder = fleet.parent / ".llm-fleet" / "prove" / report["run"]["id"]
    assert json.loads((folder / "report.json").read_text(encoding="utf-8")) == report
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "stack first-try-network" in page
    assert "123456789012" not in page + json.dumps(report)
    assert _proven(fleet, capsys, "--show-account")["run"]["account"] == "123456789012"


def test_a_template_that_aws_rejects_is_disproven(fleet: Path, aws: LocalAws, capsys: Capture):
    words = "Template format error: Unrecognized resource types: [AWS::FSx::FileSystem]"
    _refuse(aws, "ValidationError", words, operation="ValidateTemplate")
    rows = {row["id"]: row for row in _proven(fleet, capsys, code=1)["stacks"]}
    assert rows["stack first-try-network"]["outcome"] == "disproven"
    assert words in rows["stack first-try-network"]["reason"]


@pytest.mark.parametrize("code", ["AccessDenied", "Throttling", "InternalFailure"])
def test_an_error_that_is_not_about_the_claim_leaves_it_untested(
    fleet: Path, aws: LocalAws, capsys: Capture, code: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    _refuse(aws, code, "not now", operation="CreateChangeSet", times=10)
    report = _proven(fleet, capsys)
    _refuse(aws, code, "", operation="CreateChangeSet", times=0)
    row = next(row for row in report["stacks"] if row["id"] == "stack first-try-network")
    assert row["outcome"] == "not tested"
    assert code in row["reason"]


def test_expired_credentials_end_the_run_and_clean_finishes_it(
    fleet: Path, aws: LocalAws, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    real = experiment.send

    def send(clients: AwsClients, call: str, arguments: Mapping[str, Any]) -> Answer:
        if call == "cloudformation:ValidateTemplate":
            aws.refuse_calls("ExpiredToken", message="expired")
        return real(clients, call, arguments)

    monkeypatch.setattr(experiment, "send", send)
    report = _proven(fleet, capsys, code=1)
    aws.refuse_calls("ExpiredToken", times=0)
    assert [row["outcome"] for row in report["stacks"]] == ["not tested"] * len(report["stacks"])
    assert len(report["stacks"]) > 1
    assert [one["call"] for one in report["left"]] == ["s3:DeleteObject", "s3:DeleteBucket"]
    assert main(["prove", str(fleet), "--clean"]) == 0
    assert "2 resources removed" in capsys.readouterr().out


class _KilledError(BaseException):
    """The process ends without cleaning up."""


def test_a_run_that_is_killed_at_any_call_can_be_cleaned_up(
    fleet: Path, aws: LocalAws, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    before, killed = _everything(aws), 0
    for last in range(100):
        with monkeypatch.context() as patched:
            _kill_at(patched, last)
            try:
                report = _proven(fleet, capsys)
            except _KilledError:
                killed += 1
            else:
                assert report["left"] == []
                break
        assert main(["prove", str(fleet), "--clean"]) == 0
        assert _everything(aws) == before, f"killed at call {last}"
    assert killed >= 20


def _kill_at(monkeypatch: pytest.MonkeyPatch, last: int) -> None:
    """End the run at its call number `last`, half of the times before AWS gets it, and without any call after it."""
    made = 0

    def dying(real: Callable[..., Answer]) -> Callable[..., Answer]:
        def send(*arguments: Any) -> Answer:
            nonlocal made
            made += 1
            if made > last + 1 or (made == last + 1 and last % 2):
                raise _KilledError
            answer = real(*arguments)
            if made == last + 1:
                raise _KilledError
            return answer

        return send

    for module in (experiment, undo_journal):
        for name in ("send", "wait_for"):
            monkeypatch.setattr(module, name, dying(getattr(module, name)))


def test_a_run_that_still_works_is_not_cleaned_up(fleet: Path, capsys: Capture):
    journal = UndoJournal(fleet.parent / ".llm-fleet" / "prove" / "llm-fleet-other")
    request = {"call": "s3:DeleteBucket", "arguments": {"Bucket": "used-by-the-other-run"}}
    journal.add(request, "us-west-2", "123456789012")
    assert main(["prove", str(fleet), "--clean"]) == 0
    assert "nothing is left" in capsys.readouterr().out
    assert journal.pending
    journal.close()
    assert main(["prove", str(fleet), "--clean"]) == 0
    assert "1 resource removed" in capsys.readouterr().out


def test_a_run_in_another_account_is_not_cleaned_up(fleet: Path, capsys: Capture):
    journal = UndoJournal(fleet.parent / ".llm-fleet" / "prove" / "llm-fleet-other")
    journal.add({"call": "s3:DeleteBucket", "arguments": {"Bucket": "gone"}}, "us-west-2", "999999999999")
    journal.close()
    assert main(["prove", str(fleet), "--clean"]) == 1
    assert "LF1263" in capsys.readouterr().err
    journal = UndoJournal(journal.folder)
    assert len(journal.pending) == 1
    journal.close()


def test_a_folder_that_cannot_be_written_is_reported_before_any_call(fleet: Path, capsys: Capture):
    (fleet.parent / ".llm-fleet").write_text("a file", encoding="utf-8")
    assert main(["prove", str(fleet), "--yes"]) == 1
    assert "LF1264" in capsys.readouterr().err


def test_ctrl_c_removes_what_was_created_and_writes_the_report(
    fleet: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    real, made = experiment.send, 0

    def send(*arguments: Any) -> Answer:
        nonlocal made
        made += 1
        if made == 3:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(experiment, "send", send)
    report = _proven(fleet, capsys, code=130)
    assert {row["outcome"] for row in [*report["stacks"]]} == {"not tested"}
    assert report["left"] == []


def test_without_a_yes_nothing_is_called(fleet: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin.readline", lambda: "no\n", raising=False)
    assert main(["prove", str(fleet)]) == 1
    out, error = capsys.readouterr()
    assert "LF1261" in error
    assert "Created and removed in us-west-2: " in out
    assert not (fleet.parent / ".llm-fleet").exists()


def test_an_unknown_assumption_is_reported_with_the_nearest_one(fleet: Path, capsys: Capture):
    assert main(["prove", str(fleet), "--list", "--only", "list-call-rate"]) == 1
    assert "write `list-call-rates`" in capsys.readouterr().err


def test_the_list_has_what_the_fleet_depends_on(fleet: Path, capsys: Capture):
    assert main(["prove", str(fleet), "--list", "--json"]) == 0
    found = {one["id"] for one in json.loads(capsys.readouterr().out)}
    assert "hyperpod-agent-files" in found
    assert not any(one.startswith(("parallelcluster-", "studio-", "ecs-")) for one in found)


def test_two_reports_are_compared(fleet: Path, aws: LocalAws, capsys: Capture, tmp_path: Path):
    first = _proven(fleet, capsys)
    _refuse(aws, "ValidationError", "Template may not exceed 460800 bytes", operation="ValidateTemplate")
    second = _proven(fleet, capsys, code=1)
    files = [tmp_path / "first.json", tmp_path / "second.json"]
    for file, report in zip(files, (first, second), strict=True):
        file.write_text(json.dumps(report), encoding="utf-8")
    names = list(map(str, files))
    assert main(["prove", "--compare", names[0], names[0], "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert main(["prove", "--compare", *names, "--json"]) == 1
    found = {(one["name"], one["what"]) for one in json.loads(capsys.readouterr().out)}
    assert ("stack first-try-network", "outcome") in found
    assert ("stack first-try-network", "cloudformation:ValidateTemplate: error") in found
    assert len({name for name, _ in found}) == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [("{", "JSONDecodeError"), ("[]", "it has no"), ('{"form": 1}', "it has no"), (None, "FileNotFound")],
)
def test_a_file_that_is_no_report_is_reported(tmp_path: Path, capsys: Capture, text: str | None, why: str):
    file = tmp_path / "report.json"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    assert main(["prove", "--compare", str(file), str(file)]) == 1
    error = capsys.readouterr().err
    assert "LF1262" in error
    assert why in error


def _refuse(aws: LocalAws, code: str, message: str, *, operation: str, times: int = 1) -> None:
    aws.refuse_calls(code, message=message, operation=operation, times=times)
