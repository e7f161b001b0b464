"""Alarms of a job in moto's CloudWatch, read like in the function."""

from datetime import UTC, datetime
from typing import Any

import botocore.session
import pytest
from botocore.validate import validate_parameters

from llm_fleet.functions.training_watch.settings import (
    KINDS,
    JobAlarms,
    JobSettings,
    job_of_alarm,
    onset_of,
    unmeasured,
    wanted_alarms,
)
from tests.functions.training_watch.memory_aws import MemoryCloudWatch, moment

PREFIX = "llm-fleet/watch/"
SETTINGS = JobSettings(
    alarms={
        "loss-spike": {"metric": "loss", "factor": 2.0, "period": 60, "datapoints": 3, "periods": 30},
        "stall": {"metric": "loss", "period": 60, "periods": 15},
        "nan": {"metric": "loss_nan", "period": 60},
        "throughput": {"metric": "speed", "fraction": 0.5, "period": 60, "datapoints": 10, "periods": 30},
    }
)


def _requests(*metrics: str) -> dict[str, dict[str, Any]]:
    made = wanted_alarms("job-1", PREFIX, frozenset(metrics), SETTINGS)
    return {request["AlarmName"].rpartition("/")[2]: request for request in made}


def test_each_kind_has_a_valid_alarm() -> None:
    session: Any = botocore.session.get_session()
    shape = session.get_service_model("cloudwatch").operation_model("PutMetricAlarm").input_shape
    requests = _requests("loss", "loss_nan", "speed")
    assert tuple(requests) == KINDS
    for request in requests.values():
        validate_parameters(request, shape)
        period = request.get("Period") or request["Metrics"][0]["MetricStat"]["Period"]
        assert period * request["EvaluationPeriods"] <= 86400
        assert request["DatapointsToAlarm"] <= request["EvaluationPeriods"]


def test_only_metrics_of_the_job_have_an_alarm() -> None:
    assert set(_requests("speed")) == {"throughput"}
    assert unmeasured(frozenset({"speed"}), SETTINGS) == ["loss", "loss_nan"]


def test_missing_data_is_a_stall_but_not_nan_or_a_spike() -> None:
    requests = _requests("loss", "loss_nan", "speed")
    missing = {kind: request["TreatMissingData"] for kind, request in requests.items()}
    assert missing == {
        "loss-spike": "notBreaching",
        "stall": "breaching",
        "nan": "ignore",
        "throughput": "notBreaching",
    }


def test_a_ratio_is_of_the_jobs_own_metric() -> None:
    first, second = _requests("loss")["loss-spike"]["Metrics"]
    assert first["MetricStat"]["Metric"] == {
        "Namespace": "/aws/sagemaker/TrainingJobs",
        "MetricName": "loss",
        "Dimensions": [{"Name": "TrainingJobName", "Value": "job-1"}],
    }
    assert (second["Expression"], second["ReturnData"], first["ReturnData"]) == ("m1 / MIN(m1)", True, False)


@pytest.mark.parametrize(
    ("name", "job"),
    [
        ("llm-fleet/watch/job-1/nan", "job-1"),
        ("llm-fleet/watch/job-1/other", None),
        ("llm-fleet/watch-2/job-1/nan", None),
        ("llm-fleet/watch/nan", None),
    ],
)
def test_the_job_of_an_alarm(name: str, job: str | None) -> None:
    assert job_of_alarm(name, PREFIX) == job


def test_alarms_of_different_jobs_are_separate() -> None:
    cloudwatch: Any = MemoryCloudWatch(lambda: 5000.0)
    alarms = JobAlarms(cloudwatch, PREFIX)
    for job in ("job-1", "job-10"):
        alarms.put(job, frozenset({"loss_nan"}), SETTINGS)
        cloudwatch.set_alarm_state(
            AlarmName=f"{PREFIX}{job}/nan", StateValue="ALARM", StateReason="", StateReasonData="{}"
        )
    assert alarms.firing("job-1") == {"nan": 4940.0}
    assert alarms.jobs() == {"job-1", "job-10"}
    alarms.delete("job-1")
    alarms.delete("job-1")
    assert alarms.jobs() == {"job-10"}


def _alarm(**words: Any) -> dict[str, Any]:
    alarm = {"Period": 60, "EvaluationPeriods": 15, "DatapointsToAlarm": 3, "Threshold": 2.0}
    state = {"StateUpdatedTimestamp": moment(10_000.0), "ComparisonOperator": "GreaterThanThreshold"}
    return {**alarm, **state, **words}


def _data(*points: tuple[float, float]) -> str:
    rows = [
        f'{{"timestamp": "{datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000+0000")}", "value": {value}}}'
        for at, value in points
    ]
    return f'{{"evaluatedDatapoints": [{", ".join(rows)}]}}'


@pytest.mark.parametrize(
    ("words", "onset"),
    [
        ({}, 9820.0),
        ({"DatapointsToAlarm": None}, 9100.0),
        ({"StateTransitionedTimestamp": moment(9_500.0)}, 9320.0),
        ({"StateReasonData": _data((9_000, 5.0), (8_000, 1.0), (9_900, 6.0))}, 9000.0),
        ({"StateReasonData": _data((9_000, 5.0), (8_000, 1.0)), "ComparisonOperator": "LessThanThreshold"}, 8000.0),
        ({"StateReasonData": "no JSON"}, 9820.0),
        ({"StateReasonData": '{"evaluatedDatapoints": [{"value": 9}]}'}, 9820.0),
        ({"StateReasonData": "[]"}, 9820.0),
        ({"Period": None, "Metrics": [{"MetricStat": {"Period": 300}}, {"Expression": "m1"}]}, 9100.0),
    ],
)
def test_the_onset_is_the_first_bad_datapoint(words: dict[str, Any], onset: float) -> None:
    assert onset_of(_alarm(**words)) == onset
