"""The function that deletes an endpoint: when, what, and after crashes."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.sagemaker.models import sagemaker_backends

from llm_fleet.catalog.endpoint import time_to_live_facts
from llm_fleet.functions.endpoint_reaper import handler as entry
from llm_fleet.functions.endpoint_reaper.handler import ENDED
from tests.functions.endpoint_reaper.hosted import ACCOUNT, AFTER, BEFORE, REGION, SETTINGS, TTL, Crash, Hosted


def status(hosted: Hosted, value: str) -> None:
    backend: Any = sagemaker_backends[ACCOUNT][REGION]
    backend.endpoints["chat"].endpoint_status = value


def test_a_young_endpoint_is_not_deleted(hosted: Hosted) -> None:
    outcome = hosted.run(hours=3.9)
    assert (outcome.state, outcome.deleted) == ("young", ())
    assert datetime.fromisoformat(outcome.ends) > datetime.now(UTC) + timedelta(seconds=TTL - 60)
    assert hosted.there() == BEFORE
    assert hosted.calls == ["describe_endpoint"]


def test_an_old_endpoint_is_deleted_with_only_its_own_resources(hosted: Hosted) -> None:
    assert hosted.there() == BEFORE
    outcome = hosted.run(hours=4.1)
    assert (outcome.state, outcome.deleted) == ("ended", ("chat", "chat-config", "chat-model"))
    assert hosted.there() == AFTER
    assert hosted.reported() == 1
    # Before the endpoint's deletion: SageMaker rejects it without permission to deregister the target.
    assert hosted.calls.index("deregister_scalable_target") < hosted.calls.index("delete_endpoint")
    assert hosted.run().state == "ended"  # a late event changes nothing and publishes nothing
    assert (hosted.there(), hosted.reported()) == (AFTER, 0)


def test_an_endpoint_that_sagemaker_cannot_delete_waits_for_the_next_run(hosted: Hosted) -> None:
    for waits in time_to_live_facts().statuses_that_wait:
        status(hosted, waits)
        assert hosted.run().state == ("deleting" if waits == "Deleting" else "busy"), waits
        assert hosted.calls == ["describe_endpoint"], "resources that a user deletes do not get our tag"
        assert hosted.there() == BEFORE
    status(hosted, "Failed")
    assert hosted.run().state == "ended"
    assert hosted.there() == AFTER


def test_an_endpoint_that_someone_else_deleted_keeps_its_configuration_and_model(hosted: Hosted) -> None:
    hosted.client("sagemaker").delete_endpoint(EndpointName="chat")
    assert hosted.run().state == "not-ours"
    there = hosted.there()
    assert (there["configs"], there["models"], there["rule"]) == (BEFORE["configs"], BEFORE["models"], "ENABLED")
    # An endpoint that is created again from them has its own time to live.
    hosted.client("sagemaker").create_endpoint(EndpointName="chat", EndpointConfigName="chat-config")
    assert hosted.run(hours=1).state == "young"


def test_the_next_run_completes_a_run_that_crashed_between_any_two_calls(hosted: Hosted) -> None:
    dry = Hosted()
    assert dry.run().state == "ended"  # to count the calls; the loop creates everything again
    role = f"arn:aws:iam::{ACCOUNT}:role/endpoint"
    for step in range(len(dry.calls)):
        hosted.client("events").enable_rule(Name=SETTINGS.rule)
        hosted.host("chat", role)
        hosted.reported()
        crashing = Hosted(crash_at=step)
        with pytest.raises(Crash):
            crashing.run()
        hosted.run()
        assert hosted.there() == AFTER, f"after a crash at {dry.calls[step]}"
        reported = hosted.reported()
        assert reported == 1 or (reported == 2 and dry.calls[step] != "describe_endpoint"), dry.calls[step]


def test_a_deletion_that_takes_long_is_finished_by_a_later_run(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    backend: Any = sagemaker_backends[ACCOUNT][REGION]
    left = iter([60.0, 30.0, 9.0])

    class Slow(Hosted):
        def client(self, service: str) -> Any:
            client = super().client(service)
            if service == "sagemaker":
                monkeypatch.setattr(client, "delete_endpoint", lambda **parameters: status(self, "Deleting"))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
            return client

    outcome = Slow().run(patience=lambda: next(left))
    assert (outcome.state, outcome.deleted) == ("deleting", ("chat",))
    assert (hosted.there()["configs"], hosted.there()["models"]) == (BEFORE["configs"], BEFORE["models"])
    assert Slow().run(patience=lambda: 0).state == "deleting"
    del backend.endpoints["chat"]
    assert hosted.run().state == "ended"
    assert hosted.there() == AFTER


def test_a_denied_resource_does_not_count_as_deleted(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    denied = ClientError({"Error": {"Code": "AccessDeniedException", "Message": "not authorized"}}, "DeleteEndpoint")

    class Denied(Hosted):
        def client(self, service: str) -> Any:
            client = super().client(service)
            if service == "sagemaker":
                monkeypatch.setattr(client, "delete_endpoint", _raising(denied))
            return client

    with pytest.raises(ClientError, match="not authorized"):
        Denied().run()
    there = hosted.there()
    assert (there["endpoints"], there["configs"], there["rule"]) == (BEFORE["endpoints"], BEFORE["configs"], "ENABLED")


def _raising(error: Exception) -> Any:
    def call(**parameters: Any) -> Any:
        raise error

    return call


class Context:
    def get_remaining_time_in_millis(self) -> int:
        return 60_000


def test_the_handler_uses_the_time_of_the_event(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {
        "ENDPOINT_NAME": SETTINGS.endpoint,
        "CONFIG_NAME": SETTINGS.config,
        "MODEL_NAME": SETTINGS.model,
        "TTL_SECONDS": str(TTL),
        "RULE_NAME": SETTINGS.rule,
    }
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    assert entry.handler({}, Context())["state"] == "young"
    late = (datetime.now(UTC) + timedelta(hours=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert entry.handler({"time": late}, Context())["state"] == "ended"
    logged = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["state"] for line in logged] == ["young", "ended"]
    assert hosted.reported() == 0  # no topic is set


def test_the_tag_has_the_time(hosted: Hosted) -> None:
    crashing = Hosted(crash_at=5)
    with pytest.raises(Crash):
        crashing.run()
    config = hosted.client("sagemaker").describe_endpoint_config(EndpointConfigName="chat-config")
    tags = hosted.client("sagemaker").list_tags(ResourceArn=config["EndpointConfigArn"])["Tags"]
    assert [datetime.fromisoformat(tag["Value"]).tzinfo for tag in tags if tag["Key"] == ENDED] == [UTC]
