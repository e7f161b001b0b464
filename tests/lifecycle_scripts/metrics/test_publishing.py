"""Requests are signed, of the documented form and size; rejected values are kept, and the error is reported."""

import json
import math
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from llm_fleet_node.metrics import emf
from llm_fleet_node.metrics.aws import Aws
from llm_fleet_node.metrics.collector import Collector, seconds_to_next
from llm_fleet_node.metrics.credentials import CredentialSource
from llm_fleet_node.metrics.machine import Machine
from llm_fleet_node.metrics.names import METRICS
from llm_fleet_node.metrics.publishers import publisher
from llm_fleet_node.metrics.reading import Reading
from llm_fleet_node.metrics.sample import Sample
from llm_fleet_node.metrics.settings import Settings
from llm_fleet_node.metrics.sources.slurm import nodes_reading
from llm_fleet_node.metrics.status import read_status
from llm_fleet_node.metrics.write_request import snappy, varint, write_request
from tests.lifecycle_scripts.metrics.nodes import SETTINGS, linux
from tests.lifecycle_scripts.metrics.service import Service, serve, unpacked
from tests.lifecycle_scripts.step_node import program

URL = "https://aps-workspaces.us-west-2.amazonaws.com/workspaces/ws-1/api/v1/remote_write"
PROMETHEUS = replace(SETTINGS, destination="prometheus", log_group=None, remote_write_url=URL)
_NAME = {"type": "string", "minLength": 1, "maxLength": 1024}
EMF = {
    "type": "object",
    "required": ["_aws"],
    "properties": {
        "_aws": {
            "type": "object",
            "required": ["Timestamp", "CloudWatchMetrics"],
            "properties": {
                "Timestamp": {"type": "integer"},
                "CloudWatchMetrics": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["Namespace", "Dimensions", "Metrics"],
                        "properties": {
                            "Namespace": _NAME,
                            "Dimensions": {
                                "type": "array",
                                "minItems": 1,
                                "items": {
                                    "type": "array",
                                    "maxItems": 30,
                                    "items": {"type": "string", "minLength": 1, "maxLength": 250},
                                },
                            },
                            "Metrics": {
                                "type": "array",
                                "maxItems": 100,
                                "items": {
                                    "type": "object",
                                    "required": ["Name"],
                                    "properties": {
                                        "Name": _NAME,
                                        "Unit": {"enum": ["Count", "Percent", "Seconds", "Bytes/Second", "None"]},
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}
"""Of the specification: docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/
CloudWatch_Embedded_Metric_Format_Specification.html."""


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    for service in serve():
        monkeypatch.setenv("LLM_FLEET_AWS", service.address)
        monkeypatch.setenv("LLM_FLEET_METADATA", service.address)
        yield service


def collector(root: Path, settings: Settings = SETTINGS) -> tuple[Collector, list[str]]:
    machine = linux(root)
    said: list[str] = []
    aws = Aws(settings.region, CredentialSource(machine))
    made = Collector(settings, machine, publisher(settings, aws), root, settings_fingerprint="abc", say=said.append)
    return made, said


def everything() -> Sample:
    return Sample(1_795_000_000_000, Reading({key: 1.5 for key in METRICS}))


def test_a_line_with_every_metric_has_the_documented_format() -> None:
    line = emf.line(everything(), SETTINGS)
    document = json.loads(line)
    jsonschema.validate(document, EMF)
    for directive in document["_aws"]["CloudWatchMetrics"]:
        for metric in directive["Metrics"]:
            assert isinstance(document[metric["Name"]], float), "a target member is a number"
        for dimensions in directive["Dimensions"]:
            assert all(isinstance(document[name], str) for name in dimensions)
    sets = {metric["Name"]: directive["Dimensions"] for directive in document["_aws"]["CloudWatchMetrics"]
            for metric in directive["Metrics"]}  # fmt: skip
    assert sets["RootDiskUsed"] == [["Cluster"], ["Cluster", "Group"]]
    assert sets["SlurmJobsPending"] == [["Cluster"]]
    # docs/constructs/cluster-metrics.md calculates with 2.5 KiB.
    assert len(line) < 2560


def test_the_longest_possible_line_fits_into_an_event() -> None:
    drained = nodes_reading(f"ip-10-{n // 250}-0-{n % 250}|drained|{'x' * 500}" for n in range(2000))
    line = emf.line(replace(everything(), reading=replace(drained, values=everything().reading.values)), SETTINGS)
    assert len(line) < 262_144 - 26


def test_values_that_are_not_numbers_are_omitted() -> None:
    sample = Sample(1, Reading({"uptime": math.nan, "load_per_cpu": math.inf, "memory_used": 3.0}))
    assert "Uptime" not in emf.line(sample, SETTINGS)
    assert sample.numbers == {"memory_used": 3.0}


def test_each_node_writes_to_its_own_stream(tmp_path: Path, service: Service) -> None:
    made, said = collector(tmp_path)
    status = made.once()
    assert service.calls == ["PutLogEvents", "CreateLogStream", "PutLogEvents"]
    assert service.unsigned == []
    assert service.streams == {("/llm-fleet/metrics/train", "i-0123456789abcdef0")}
    (line,) = service.lines()
    assert (line["Cluster"], line["Group"], line["Node"], line["NodesReporting"]) == (
        "train", "trn1", "i-0123456789abcdef0", 1.0)  # fmt: skip
    assert (status.trouble, status.waiting, said) == (None, 0, [])
    assert read_status(tmp_path) == status
    assert "llm_fleet_nodes_reporting 1\n" in (tmp_path / "llm_fleet.prom").read_text()
    made.once()
    assert service.calls[3:] == ["PutLogEvents"], "the stream is made once"


def test_rejected_samples_are_kept_and_reported_once(tmp_path: Path, service: Service) -> None:
    made, said = collector(tmp_path)
    service.refusals = [(503, "ServiceUnavailableException", {}), (429, "ThrottlingException", {})]
    assert made.once().trouble == (
        'logs returned 503: ServiceUnavailableException: {"message": "ServiceUnavailableException"}'
    )
    assert made.once().waiting == 2
    assert made.once().waiting == 0
    assert len(service.events) == 3
    assert said[-1] == "publishing works again, 3 samples sent"


def test_samples_of_at_most_one_hour_are_kept(tmp_path: Path, service: Service) -> None:
    made, said = collector(tmp_path)
    service.refusals = [(500, "InternalFailure", {})] * 70
    waiting = [made.once().waiting for _ in range(62)]
    assert waiting[-1] == 60
    assert len(said) == 1, "the same error is logged once"


def test_lines_that_are_too_old_do_not_block_newer_ones(tmp_path: Path, service: Service) -> None:
    made, _ = collector(tmp_path)
    service.rejected = {"tooOldLogEventEndIndex": 1}
    status = made.once()
    assert "CloudWatch Logs rejected some lines" in (status.trouble or "")
    assert status.waiting == 0


def test_a_missing_permission_is_reported_and_retried(tmp_path: Path, service: Service) -> None:
    made, _ = collector(tmp_path)
    service.refusals = [(403, "AccessDeniedException", {})]
    assert "403: AccessDeniedException" in (made.once().trouble or "")
    assert made.once().trouble is None


def test_a_wrong_clock_is_reported(tmp_path: Path, service: Service) -> None:
    made, _ = collector(tmp_path)
    service.refusals = [(403, "InvalidSignatureException", {"Date": formatdate(time.time() - 900, usegmt=True)})]
    assert re.search(r"this node.s clock is off by \+90[01] s", made.once().trouble or "")


def test_an_unreachable_service_is_reported(tmp_path: Path, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_FLEET_AWS", "http://127.0.0.1:1")
    made, _ = collector(tmp_path)
    trouble = made.once().trouble or ""
    assert trouble.startswith("logs.us-west-2.amazonaws.com cannot be reached: ")


def test_without_credentials_in_the_metadata_those_of_the_cli_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_FLEET_METADATA", "http://127.0.0.1:1")
    source = CredentialSource(Machine(tmp_path))
    with pytest.raises(Exception, match=r"no credentials: .*; AWS CLI: this node has no `aws`"):
        source.credentials()
    reported = {"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "hidden", "SessionToken": "T",
            "Expiration": "2099-01-01T00:00:00+00:00"}  # fmt: skip
    program(tmp_path, "aws", f"if a[:2] != ['configure', 'export-credentials']: bad()\nprint({json.dumps(reported)!r})")
    found = source.credentials()
    assert (found.access_key, found.token) == ("A", "T")
    assert "hidden" not in repr(found)


def test_prometheus_accepts_a_signed_write_request(tmp_path: Path, service: Service) -> None:
    made, _ = collector(tmp_path, PROMETHEUS)
    service.refusals = [(500, "InternalFailure", {})]
    made.once()
    assert made.once().trouble is None
    assert service.unsigned == []
    series = unpacked(service.written[0])
    labels, samples = series["llm_fleet_uptime_seconds"]
    assert labels == {
        "__name__": "llm_fleet_uptime_seconds",
        "cluster": "train",
        "fleet": "demo",
        "group": "trn1",
        "instance": "i-0123456789abcdef0",
        "instance_type": "ml.trn1.32xlarge",
    }
    assert [value for value, _ in samples] == [1234.5, 1234.5], "waiting samples are sent too"
    assert abs(samples[0][1] - time.time() * 1000) < 60_000


def test_metrics_of_the_queue_have_no_instance_label() -> None:
    labels, _ = unpacked(write_request([everything()], PROMETHEUS))["llm_fleet_slurm_jobs_pending"]
    assert set(labels) == {"__name__", "cluster", "fleet"}


def test_long_requests_are_encoded_in_pieces() -> None:
    packed = snappy(b"x" * 150_000)
    assert packed.startswith(varint(150_000))
    assert len(packed) == 150_000 + len(varint(150_000)) + 3 * 3


@pytest.mark.parametrize(("now", "after"), [(0.0, True), (59.99, True), (1e9, True)])
def test_each_node_has_its_own_second_of_the_minute(now: float, after: bool) -> None:
    waits = [seconds_to_next(now, 60, f"i-{number:017x}") for number in range(2000)]
    assert all(1 <= wait <= 61 for wait in waits) is after
    busiest = max(sum(1 for wait in waits if int(wait) == second) for second in range(62))
    assert busiest < 80, "2,000 nodes are spread over the minute"


def test_an_unexpected_error_of_a_source_does_not_affect_others(
    tmp_path: Path, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Reading:
        raise KeyError("a driver of tomorrow")

    monkeypatch.setattr("llm_fleet_node.metrics.collector.read_efa", broken)
    made, _ = collector(tmp_path)
    status = made.once()
    assert status.broken == ["efa"]
    assert service.lines()[0]["Unread"] == {"efa": "KeyError: 'a driver of tomorrow'"}
    assert service.lines()[0]["NodesReporting"] == 1.0
