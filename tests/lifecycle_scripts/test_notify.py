"""Report, metric and event: what is sent, and that no trouble in sending hides or delays the failure."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.lifecycle_scripts.step_files import step
from tests.lifecycle_scripts.throwaway_node import Ended, Node

REPORTS = {"s3_uri": "s3://logs/fleet", "metric_namespace": "/aws/sagemaker/Clusters", "event_bus": "default"}
BROKEN = {"broken": step("broken", apply="fail(Code.COMMAND, 'it cannot be \"done\"')")}


def test_a_failure_is_sent_as_report_metric_and_event(worker: Node, aws: Path) -> None:
    worker.publish(step_files=BROKEN, reports=REPORTS)
    ended = run(worker, aws)
    assert ended.code == 1
    sent = calls(aws)
    assert set(sent) == {"s3", "cloudwatch", "events"}
    assert {call["region"] for call in sent.values()} == {"us-west-2"}
    assert sent["cloudwatch"]["namespace"] == "/aws/sagemaker/Clusters"
    assert sent["cloudwatch"]["dimensions"] == "Cluster=train,Group=trn,Code=LFN31"
    (entry,) = sent["events"]["entries"]
    assert (entry["Source"], entry["DetailType"]) == ("llm-fleet.node", "LLM Fleet Node Failed")
    detail = json.loads(entry["Detail"])
    assert (detail["code"], detail["cause"], detail["node"]) == ("LFN31", 'it cannot be "done"', "i-trn1")
    copied = aws / "s3" / "logs" / "fleet" / "i-trn1" / ended.report["started"]
    assert detail["report"] == f"s3://logs/fleet/i-trn1/{ended.report['started']}/report.json"
    assert json.loads((copied / "report.json").read_text()) == ended.report
    assert "LFN31  broken: it cannot be" in (copied / "llm-fleet.log").read_text()
    assert sorted(path.name for path in copied.iterdir()) == ["llm-fleet.log", "report.json"]


def test_a_failure_before_the_node_knows_itself_is_sent_too(node: Node, aws: Path) -> None:
    node.publish(reports=REPORTS)
    assert run(node, aws).code == 1
    assert calls(aws)["cloudwatch"]["dimensions"] == "Cluster=train,Group=unknown,Code=LFN14"


def test_a_success_is_reported_without_metric_and_event(worker: Node, aws: Path) -> None:
    worker.publish(reports=REPORTS)
    assert run(worker, aws).code == 0
    assert set(calls(aws)) == {"s3"}


@pytest.mark.parametrize("reports", [None, REPORTS | {"metric_namespace": None, "event_bus": None}])
def test_only_what_the_manifest_asks_for_is_sent(worker: Node, aws: Path, reports: dict[str, Any] | None) -> None:
    worker.publish(step_files=BROKEN, reports=reports)
    assert run(worker, aws).code == 1
    assert set(calls(aws)) == ({"s3"} if reports else set())


@pytest.mark.parametrize("service", ["s3", "cloudwatch", "events"])
def test_trouble_in_sending_is_a_line_and_no_more(worker: Node, aws: Path, service: str) -> None:
    worker.publish(step_files=BROKEN, reports=REPORTS)
    (aws / f"fail.{service}").write_text("AccessDenied")
    ended = run(worker, aws)
    assert (ended.code, ended.report["code"]) == (1, "LFN31")
    assert ended.out.count("not sent: AccessDenied") == 1
    assert ended.out.count(": sent") == 2


def test_an_event_that_is_refused_by_a_call_that_succeeds_is_told(worker: Node, aws: Path) -> None:
    worker.publish(step_files=BROKEN, reports=REPORTS)
    (aws / "refuse.events").touch()
    assert "event: not sent: " in run(worker, aws).out


def test_what_hangs_is_given_up_and_the_rest_is_sent(worker: Node, aws: Path) -> None:
    worker.publish(step_files=BROKEN, reports=REPORTS)
    (aws / "hang.s3").touch()
    began = time.monotonic()
    ended = run(worker, aws, LLM_FLEET_REPORT_DEADLINE="2")
    assert time.monotonic() - began < 15
    assert "report: not sent within 2 s" in ended.out
    assert ended.out.count(": sent") == 2


def test_a_node_without_the_command_says_so(worker: Node, tmp_path: Path) -> None:
    for program in ("bash", "dirname"):
        (tmp_path / program).symlink_to(f"/usr/bin/{program}")
    worker.publish(step_files=BROKEN, reports=REPORTS)
    ended = worker.run(PATH=str(tmp_path))
    assert (ended.code, ended.report["code"]) == (1, "LFN31")
    assert "this node has no `aws` command" in ended.out


def run(node: Node, aws: Path, **environment: str) -> Ended:
    return node.run(PATH=f"{aws}/bin:/usr/bin:/bin", FAKE_AWS=str(aws), **environment)


def calls(aws: Path) -> dict[str, dict[str, Any]]:
    """The calls by service; each is made once at most."""
    path = aws / "calls"
    made = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    assert len({call["service"] for call in made}) == len(made)
    return {call["service"]: call for call in made}
