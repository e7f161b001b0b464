"""`llm-fleet bundle` of the launch post's cluster in a local emulation, with secrets planted wherever it looks."""

import json
import os
import re
import stat
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.cli.main import main
from tests.cli.bundle.secrets_of_each_form import everything, leaked
from tests.deployment.bad_night import BadNight, fall, leave_report, log
from tests.deployment.conftest import LAUNCH_POST
from tests.deployment.fleet_on_aws import FleetOnAws
from tests.terminal import run_in_terminal

Bundle = Callable[..., tuple[int, dict[str, str], str]]
LEAKY, REPORTED = "i-0fee0fee0fee0fee0", "i-0bad0bad0bad0bad0"


@pytest.fixture(scope="module")
def night(launch_post: FleetOnAws, tmp_path_factory: pytest.TempPathFactory) -> BadNight:
    """The bad night, and secrets in a log, in a report and in an event of HyperPod's."""
    night = fall(launch_post, tmp_path_factory.mktemp("night"))
    log(
        launch_post,
        night.log_group,
        "worker-group",
        LEAKY,
        [line for line in everything().splitlines() if line.strip()],
    )
    report: dict[str, Any] = {
        "code": "LFN35",
        "started": "2026-11-22T03:00:00.000Z",
        "node": {},
        "steps": [],
        "cause": everything(),
    }
    leave_report(launch_post, REPORTED, report)
    launch_post.aws.report_cluster_event(
        {
            "ClusterArn": launch_post.cluster["ClusterArn"],
            "ClusterName": "ml-cluster",
            "EventId": "0000000f-89ab-cdef-0123-456789abcdef",
            "EventTime": time.time() - 3600,
            "ResourceType": "Cluster",
            "EventLevel": "Warn",
            "Description": "a pasted secret",
            "EventDetails": {"EventMetadata": {"Cluster": {"FailureMessage": everything()}}},
        }
    )
    return night


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The launch post's fleet file, with secrets in its comments."""
    notes = "".join(f"# {line}\n" for line in everything().splitlines())
    file = tmp_path / "fleet.yaml"
    file.write_text(notes + LAUNCH_POST.read_text(encoding="utf-8"), encoding="utf-8")
    return file


@pytest.fixture
def bundle(
    night: BadNight,
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Bundle:
    for name, value in night.fleet.aws.environment.items():
        monkeypatch.setenv(name, value)

    def run(*words: str) -> tuple[int, dict[str, str], str]:
        out = tmp_path / "out.tar.gz"
        code = main(["bundle", "-f", str(file), "-o", str(out), *words])
        files = read(out) if out.is_file() else {}
        return code, files, "".join(capsys.readouterr())

    return run


def read(archive: Path) -> dict[str, str]:
    with tarfile.open(archive) as tar:
        members = {member.name.partition("/")[2]: tar.extractfile(member) for member in tar.getmembers()}
        return {name: file.read().decode() for name, file in members.items() if file is not None}


def test_everything_is_in_it_and_no_secret(bundle: Bundle, night: BadNight, tmp_path: Path) -> None:
    code, files, said = bundle("--no-session")
    assert code == 0, said
    assert {name: leaked(text) for name, text in files.items() if leaked(text)} == {}
    assert {"fleet.yaml", "cluster.json", "nodes.json", "events.json", "stack.json", "starts.json"} <= set(files)
    assert f"logs/worker-group-{LEAKY}.log" in files
    assert f"reports/worker-group-{REPORTED}.json" in files
    assert "LFN31  mount_lustre: mount: server not found" in files[f"logs/worker-group-{night.failed}.log"]
    assert json.loads(files["cluster.json"])["ClusterName"] == "ml-cluster"
    assert "ml.trn1.32xlarge" in files["fleet.yaml"]
    assert json.loads(files["manifest.json"])["missing"] == []
    assert stat.S_IMODE((tmp_path / "out.tar.gz").stat().st_mode) == 0o600


def test_the_secrets_were_where_it_looked(night: BadNight, file: Path) -> None:
    """The test above could not fail otherwise."""
    client: Any = night.fleet.aws.client("logs")
    name = f"LifecycleConfig/worker-group/{LEAKY}"
    events = client.get_log_events(logGroupName=night.log_group, logStreamName=name, startFromHead=True)["events"]
    assert leaked("\n".join(event["message"] for event in events)) == leaked(everything())
    assert len(leaked(file.read_text(encoding="utf-8"))) == len(leaked(everything()))


def test_what_cannot_be_had_is_reported_and_keeps_nothing_else_out(
    bundle: Bundle, night: BadNight, monkeypatch: pytest.MonkeyPatch
) -> None:
    aws = night.fleet.aws
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    aws.refuse_calls("AccessDeniedException", service="sagemaker", operation="ListClusterNodes")
    try:
        code, files, said = bundle("--no-session")
    finally:
        aws.refuse_calls("AccessDeniedException", service="sagemaker", operation="ListClusterNodes", times=0)
    assert code == 3
    assert "nodes.json is left out: the AWS credentials do not allow this call" in said
    missing = {one["name"]: one["why"] for one in json.loads(files["manifest.json"])["missing"]}
    assert set(missing) == {"nodes.json", "starts.json, in part"}
    assert "cluster.json" in files


def test_accounts_are_masked_on_request(bundle: Bundle) -> None:
    _, files, _ = bundle("--no-session", "--mask-accounts")
    assert re.search(r"arn:aws:sagemaker:us-west-2:<account-\d+>:cluster/", files["cluster.json"])
    assert not any("123456789012" in text for text in files.values())


def test_a_file_that_is_there_stays(bundle: Bundle, tmp_path: Path) -> None:
    (tmp_path / "out.tar.gz").write_bytes(b"")
    code = main(["bundle", "-f", str(LAUNCH_POST), "-o", str(tmp_path / "out.tar.gz"), "--no-session"])
    assert code == 1
    assert (tmp_path / "out.tar.gz").read_bytes() == b""


def test_ctrl_c_leaves_nothing_behind(night: BadNight, tmp_path: Path) -> None:
    aws = night.fleet.aws
    # Throttled calls are tried again and again, which leaves time to type.
    aws.refuse_calls("ThrottlingException", service="sagemaker", operation="ListClusterEvents")
    try:
        ended = run_in_terminal(
            "bundle",
            "--no-session",
            "-f",
            str(LAUNCH_POST),
            environment=aws.environment | {"AWS_MAX_ATTEMPTS": "10"},
            folder=tmp_path,
            interrupt_at="events.json",
        )
    finally:
        aws.refuse_calls("ThrottlingException", service="sagemaker", operation="ListClusterEvents", times=0)
    assert ended.code == 130
    assert os.listdir(tmp_path) == []
