"""Report, metric and event: what is sent, and that an error while sending neither hides nor delays the failure."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from llm_fleet_node.notify import _metric as metric  # pyright: ignore[reportPrivateUsage]
from tests.lifecycle_scripts.step_files import step
from tests.lifecycle_scripts.step_node import make
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
    by_code, by_cluster = sent["cloudwatch"]["metric_data"]
    assert by_code["MetricName"] == by_cluster["MetricName"] == "NodeStartFailures"
    assert dimensions(by_code) == {"Cluster": "train", "Group": "trn", "Code": "LFN31"}
    assert dimensions(by_cluster) == {"Cluster": "train"}
    (entry,) = sent["events"]["entries"]
    assert (entry["Source"], entry["DetailType"]) == ("llm-fleet.node", "LLM Fleet Node Failed")
    detail = json.loads(entry["Detail"])
    assert (detail["code"], detail["cause"], detail["node"]) == ("LFN31", 'it cannot be "done"', "i-trn1")
    copied = aws / "s3" / "logs" / "fleet" / "i-trn1" / ended.report["started"]
    assert detail["report"] == f"s3://logs/fleet/i-trn1/{ended.report['started']}/report.json"
    assert json.loads((copied / "report.json").read_text()) == ended.report
    assert "LFN31  broken: it cannot be" in (copied / "llm-fleet.log").read_text()
    assert sorted(path.name for path in copied.iterdir()) == ["llm-fleet.log", "report.json"]


def test_a_failure_before_identification_is_sent_too(node: Node, aws: Path) -> None:
    node.publish(reports=REPORTS)
    assert run(node, aws).code == 1
    by_code = calls(aws)["cloudwatch"]["metric_data"][0]
    assert dimensions(by_code) == {"Cluster": "train", "Group": "unknown", "Code": "LFN14"}


def test_a_success_is_reported_without_metric_and_event(worker: Node, aws: Path) -> None:
    worker.publish(reports=REPORTS)
    assert run(worker, aws).code == 0
    assert set(calls(aws)) == {"s3"}


def test_a_failed_step_that_jobs_do_not_need_is_reported_as_degraded(worker: Node, aws: Path) -> None:
    broken = step("broken", apply="fail(Code.METRICS_REJECTED, 'not published')", more='"is_for_jobs": False')
    worker.publish(step_files={"broken": broken}, reports=REPORTS)
    ended = run(worker, aws)
    assert (ended.code, ended.report["code"], ended.report["failures"]) == (0, "OK", [])
    assert ended.report["degraded"] == [{"step": "broken", "code": "LFN152", "cause": "not published"}]
    sent = calls(aws)
    assert set(sent) == {"s3", "cloudwatch", "events"}
    assert {datum["MetricName"] for datum in sent["cloudwatch"]["metric_data"]} == {"NodeStartsDegraded"}
    by_code, by_cluster = map(dimensions, sent["cloudwatch"]["metric_data"])
    assert by_code == {"Cluster": "train", "Group": "trn", "Code": "LFN152"}
    assert by_cluster == {"Cluster": "train"}
    (entry,) = sent["events"]["entries"]
    assert entry["DetailType"] == "LLM Fleet Node Degraded"
    detail = json.loads(entry["Detail"])
    assert (detail["code"], detail["cause"], detail["node"]) == ("LFN152", "not published", "i-trn1")
    assert detail["remedy"].startswith("check that the node can reach the service")


@pytest.mark.parametrize(("platform", "name"), [("parallelcluster", "train"), ("hyperpod", "train-0a1b2c3d")])
def test_the_metric_of_a_parallelcluster_keeps_its_name_when_the_hash_changes(
    tmp_path: Path, platform: str, name: str
) -> None:
    manifest = make(tmp_path, platform=platform, cluster="train-0a1b2c3d").manifest
    record = {"code": "LFN31", "node": {"group": "trn"}}
    (_, by_cluster) = json.loads(metric(manifest, "LlmFleet/Nodes", record)[-1])
    assert dimensions(by_cluster) == {"Cluster": name}


@pytest.mark.parametrize("reports", [None, REPORTS | {"metric_namespace": None, "event_bus": None}])
def test_only_reports_in_the_manifest_are_sent(worker: Node, aws: Path, reports: dict[str, Any] | None) -> None:
    worker.publish(step_files=BROKEN, reports=reports)
    assert run(worker, aws).code == 1
    assert set(calls(aws)) == ({"s3"} if reports else set())


@pytest.mark.parametrize("service", ["s3", "cloudwatch", "events"])
def test_errors_while_sending_are_only_logged(worker: Node, aws: Path, service: str) -> None:
    worker.publish(step_files=BROKEN, reports=REPORTS)
    (aws / f"fail.{service}").write_text("AccessDenied")
    ended = run(worker, aws)
    assert (ended.code, ended.report["code"]) == (1, "LFN31")
    assert ended.out.count("not sent: AccessDenied") == 1
    assert ended.out.count(": sent") == 2


def test_a_rejected_event_of_a_successful_call_is_reported(worker: Node, aws: Path) -> None:
    worker.publish(step_files=BROKEN, reports=REPORTS)
    (aws / "refuse.events").touch()
    assert "event: not sent: " in run(worker, aws).out


def test_a_hanging_call_is_ended_and_the_others_are_sent(worker: Node, aws: Path) -> None:
    worker.publish(step_files=BROKEN, reports=REPORTS)
    (aws / "hang.s3").touch()
    began = time.monotonic()
    ended = run(worker, aws, LLM_FLEET_REPORT_DEADLINE="2")
    assert time.monotonic() - began < 15
    assert "report: not sent within 2 s" in ended.out
    assert ended.out.count(": sent") == 2


def test_a_node_without_the_aws_cli_logs_it(worker: Node, tmp_path: Path) -> None:
    for program in ("bash", "dirname"):
        (tmp_path / program).symlink_to(f"/usr/bin/{program}")
    worker.publish(step_files=BROKEN, reports=REPORTS)
    ended = worker.run(PATH=str(tmp_path))
    assert (ended.code, ended.report["code"]) == (1, "LFN31")
    assert "this node has no `aws` command" in ended.out


def run(node: Node, aws: Path, **environment: str) -> Ended:
    return node.run(PATH=f"{aws}/bin:/usr/bin:/bin", FAKE_AWS=str(aws), **environment)


def dimensions(datum: dict[str, Any]) -> dict[str, str]:
    return {each["Name"]: each["Value"] for each in datum["Dimensions"]}


def calls(aws: Path) -> dict[str, dict[str, Any]]:
    """The calls by service; each is made at most once."""
    path = aws / "calls"
    made = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    assert len({call["service"] for call in made}) == len(made)
    return {call["service"]: call for call in made}
