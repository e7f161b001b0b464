"""`llm-fleet logs` and `events` about the launch post's cluster after a bad night, in a local emulation."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from llm_fleet.cli.main import main
from tests.deployment.bad_night import FAILURE, BadNight, fall
from tests.deployment.conftest import LAUNCH_POST
from tests.deployment.fleet_on_aws import FleetOnAws
from tests.pains.reported import reported
from tests.terminal import run_in_terminal, type_ctrl_c

FILE = ("-f", str(LAUNCH_POST))


@dataclass(frozen=True)
class Said:
    """How the command ended in this process."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)


Say = Callable[..., Said]


@pytest.fixture(scope="module")
def night(launch_post: FleetOnAws, tmp_path_factory: pytest.TempPathFactory) -> BadNight:
    return fall(launch_post, tmp_path_factory.mktemp("night"))


@pytest.fixture
def say(night: BadNight, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    for name, value in night.fleet.aws.environment.items():
        monkeypatch.setenv(name, value)

    def said(*words: str) -> Said:
        code = main([*words, *FILE])
        out, err = capsys.readouterr()
        return Said(code, out, err)

    return said


def test_each_node_is_reported_with_the_step_and_the_code(say: Say, night: BadNight) -> None:
    """Pain 3: HyperPod says that scripts did not run successfully, and no more."""
    said = say("logs", "--json")
    runs = {one["node"]: one for one in said.json["runs"]}
    assert said.code == 1
    assert (runs[night.well]["outcome"], runs[night.well]["code"]) == ("ok", "OK")
    failed = runs[night.failed]
    assert (failed["step"], failed["code"], failed["cause"]) == ("mount_lustre", "LFN31", "mount: server not found")
    assert failed["remedy"].startswith("read the output of the command")
    reported(3, say("logs").out, "LFN31 on 3 nodes remedy: read the output of the command above and in the log")
    assert failed["failed_before"] == 1


def test_an_empty_stream_is_made_good_by_the_report(say: Say, night: BadNight) -> None:
    """Pain 4: the stream in CloudWatch is empty after a failure."""
    said = say("logs", "--json")
    silent = next(one for one in said.json["runs"] if one["node"] == night.silent)
    assert (silent["source"], silent["step"], silent["code"]) == ("report", "mount_lustre", "LFN31")
    assert any("read from the reports in s3://" in one and night.silent in one for one in said.json["remarks"])
    reported(4, say("logs").err, "CloudWatch has no result of")
    assert {step["name"]: step["state"] for step in silent["steps"]}["training_environment"] == "not reached"


def test_a_start_that_was_cut_off_is_reported_with_the_step_it_was_in(say: Say, night: BadNight) -> None:
    cut_off = next(one for one in say("logs", "--json").json["runs"] if one["node"] == night.cut_off)
    assert (cut_off["outcome"], cut_off["step"], cut_off["code"]) == ("not ended", "mount_lustre", None)


def test_a_node_that_was_replaced_is_still_reported_of(say: Say, night: BadNight) -> None:
    said = say("logs", "--failed")
    (row,) = [line for line in said.out.splitlines() if night.replaced in line]
    assert "node deleted" in row
    assert night.well not in said.out
    assert "LFN31 on 3 nodes" in said.out
    assert "more: docs/node-failures/LFN31.md" in said.out


def test_the_lines_of_one_node_and_of_one_step(say: Say, night: BadNight) -> None:
    whole = say("logs", "--node", night.failed)
    assert "LFN31  mount_lustre: mount: server not found" in whole.out
    assert whole.out.count("OnInitComplete: fleet") == 1  # the last run, of two in the stream
    assert say("logs", "--node", night.failed, "--raw").out.count("OnInitComplete: fleet") == 2
    step = say("logs", "--step", "disks", "--node", night.failed).out.splitlines()
    assert step
    assert all("disks" in line and night.failed in line for line in step)


def test_a_node_that_no_one_knows_is_reported(say: Say) -> None:
    said = say("logs", "--node", "i-00000000000000000")
    assert said.code == 1
    assert "LF1122" in said.err


def test_another_log_that_is_not_there_is_reported(say: Say) -> None:
    said = say("logs", "--health")
    assert (said.code, "LF1121" in said.err) == (1, True)
    assert "LF1123" in say("logs", "--log", "slurmctld").err


def test_events_come_once_with_the_message_that_the_list_leaves_out(say: Say, night: BadNight) -> None:
    """Pain 13: no capacity; and the words that a person reads at three in the morning."""
    said = say("events")
    assert said.code == 1
    (row,) = [line for line in said.out.splitlines() if "Instance creation failed" in line]
    assert FAILURE in row
    reported(13, said.out, "Instance creation failed: We currently do not have sufficient capacity")
    assert night.failed in row
    assert "Instances are going" not in said.out
    assert "remedy: `llm-fleet check` shows in which AZs the type is offered" in said.out
    assert "us-west-2: InService" in said.out


def test_scale_in_is_reported_when_all_is_requested_for(say: Say) -> None:
    everything = say("events", "--all", "--json").json
    assert any(one["what"] == "Instances are going" for one in everything["events"])
    (failed,) = [one for one in everything["events"] if one["what"] == "Instance creation failed"]
    assert failed["times"] == 2
    assert any(one["source"] == "CloudFormation" for one in everything["events"])


def test_a_span_leaves_older_events_out(say: Say) -> None:
    assert say("events", "--since", "10s").out.splitlines()[-1] == "no events"


def test_a_cluster_that_is_gone_is_reported(say: Say, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text(LAUNCH_POST.read_text(encoding="utf-8").replace("ml-cluster", "gone"), encoding="utf-8")
    monkeypatch.setattr("tests.deployment.test_logs_and_events.FILE", ("-f", str(file)))
    logs, events = say("logs"), say("events")
    assert (logs.code, "LF1008" in logs.err) == (1, True)
    assert (events.code, "LF1008" in events.err) == (1, True)


@pytest.mark.parametrize(
    ("code", "named"),
    [("AccessDeniedException", "LF1004"), ("ThrottlingException", "LF1005"), ("ExpiredTokenException", "LF1002")],
)
def test_what_aws_refuses_is_named(
    say: Say, night: BadNight, monkeypatch: pytest.MonkeyPatch, code: str, named: str
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    night.fleet.aws.refuse_calls(code, service="sagemaker", operation="ListClusterEvents")
    try:
        said = say("events")
    finally:
        night.fleet.aws.refuse_calls(code, service="sagemaker", operation="ListClusterEvents", times=0)
    assert said.code == 3
    assert named in said.err
    assert "us-west-2: InService" in said.out  # what could be queried is reported all the same


def test_a_terminal_of_forty_columns(night: BadNight) -> None:
    """Ctrl-C in a terminal is proven with `bundle` and `nodes`; a pipe needs no process of its own."""
    environment = night.fleet.aws.environment | {"NO_COLOR": "1"}
    narrow = run_in_terminal("logs", *FILE, environment=environment, columns=40)
    assert narrow.code == 1
    assert max(map(len, narrow.lines)) <= 40
    assert "  step: mount_lustre" in narrow.lines
    assert "\x1b[3" not in narrow.raw


def test_following_ends_by_ctrl_c_and_reports_each_line_once(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            type_ctrl_c()

    monkeypatch.setattr("llm_fleet.cli.logs.log_streams.time", SimpleNamespace(sleep=sleep))
    followed = say("logs", "--follow")
    assert followed.code == 130
    # A report is a table, and the others are lines of the log, which begin with a clock.
    once = [line for line in say("logs", "--raw").out.splitlines() if line[2:3] == ":"]
    assert [line for line in followed.out.splitlines() if "server not found" in line]
    assert sorted(followed.out.splitlines()) == sorted(once)


def test_operations_are_among_the_events(say: Say, night: BadNight) -> None:
    counts = {"Original": {"CurrentCount": 4, "TargetCount": 4}, "Desired": {"TargetCount": 6}}
    night.fleet.aws.report_cluster_operation(
        {
            "OperationId": "0000000a-89ab-cdef-0123-456789abcdef",
            "ClusterArn": night.fleet.cluster["ClusterArn"],
            "Type": "Scaling",
            "Status": "InProgress",
            "ScalingDetails": [{"InstanceGroupName": "worker-group", "Status": "InProgress", **counts}],
        }
    )
    assert "operation Scaling InProgress: worker-group 4 to 6 nodes, InProgress" in say("events").out
