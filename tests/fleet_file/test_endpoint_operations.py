"""An endpoint's operations in the fleet file: short forms, units, and errors at their keys."""

import pytest

from tests.fleet_file.good_endpoint import INSTANCE, endpoint, problems

TOPIC = "arn:aws:sns:us-west-2:111122223333:pager"


def more(text: str) -> tuple[str, str]:
    """The edit that writes `text` below the endpoint."""
    return INSTANCE, f"{INSTANCE}\n    {text}"


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("data_capture: s3://mine/kept", "data_capture: {to: s3://mine/kept}"),
        ("rollout: all-at-once", "rollout: {kind: all-at-once}"),
        (f"alarms: {TOPIC}", f"alarms: {{topic: {TOPIC}}}"),
        (f"alarms: {TOPIC}\n    budget: 200 USD", f"alarms: {TOPIC}\n    budget: {{monthly: 200 USD}}"),
        ("time_to_live: 4 hours", "time_to_live: 240 minutes"),
    ],
)
def test_short_forms_are_equivalent_to_long_forms(short: str, long: str) -> None:
    assert problems(*more(short)) == ()
    assert endpoint(*more(short)) == endpoint(*more(long))


def test_units_are_converted() -> None:
    parsed = endpoint(*more("time_to_live: 2 days\n    alarms: {model_latency: 800 ms, idle: 12 hours}"))
    assert parsed.time_to_live_seconds == 2 * 86400
    assert (parsed.alarms.model_latency_seconds, parsed.alarms.idle_hours) == (0.8, 12)


@pytest.mark.parametrize(
    ("text", "where", "code"),
    [
        ("time_to_live: 0 hours", "time_to_live", "LF954"),
        ("time_to_live: 4", "time_to_live", "LF115"),
        ("data_capture: {percent: 0}", "data_capture.percent", "LF945"),
        ("data_capture: {requests: false, answers: false}", "data_capture.requests", "LF946"),
        ("data_capture: my-bucket", "data_capture.to", "LF947"),
        ("scaling: {max: 0}", "scaling.max", "LF948"),
        ("count: 3\n    scaling: {max: 2}", "scaling.max", "LF948"),
        ("scaling: {max: 2, requests_per_minute: 0}", "scaling.requests_per_minute", "LF949"),
        ("count: 2\n    rollout: {kind: canary, percent: 60}", "rollout.percent", "LF950"),
        ("rollout: {watch: 60 s}", "rollout.watch", "LF951"),
        ("rollout: canary", "rollout.kind", "LF952"),
        ("rollout: {alarms: [a, a]}", "rollout.alarms[1]", "LF953"),
        ("budget: 0 USD", "budget.monthly", "LF955"),
        ("budget: {monthly: 9 USD, at_percent: [-1], emails: [a@example.com]}", "budget.at_percent[0]", "LF956"),
        ("budget: 200 USD", "budget.emails", "LF957"),
        ("alarms: {server_error_percent: 0}", "alarms.server_error_percent", "LF958"),
    ],
)
def test_an_error_is_reported_at_its_key(text: str, where: str, code: str) -> None:
    (problem,) = problems(*more(text))
    assert (problem.where, problem.code.value) == (f"endpoints.gpt-j.{where}", code)
    assert problem.remedy
