"""The Hub is asked with the token, and the token is nowhere else."""

import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest

from llm_fleet.cli.aws.refusals import AwsRefusal
from llm_fleet.cli.check import models
from llm_fleet.cli.check.hub import hub_status
from local.aws.client import LocalAws
from tests.cli.check.conftest import Check

_TOKEN = "hf_of-a-test"
_FLEET = """
fleet: chat
region: us-west-2
network: {azs: [usw2-az1, usw2-az2]}
services:
  chat:
    model: {s3: 's3://models-to-come/llama', shape: {parameters: 8B, layers: 32, heads: 32, kv_heads: 8, head_dim: 128}}
    instance: inf2.xlarge
    front: {http: true}
    export: {source: {hub: example/gated-1b, token_secret: '%s'}}
"""


class _Hub(BaseHTTPRequestHandler):
    asked: ClassVar[list[tuple[str, str, str | None]]] = []

    def do_HEAD(self) -> None:
        token = self.headers.get("Authorization")
        self.asked.append((self.command, self.path, token))
        if "moved" in self.path:
            self.send_response(307)
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        else:
            self.send_response(200 if token == f"Bearer {_TOKEN}" else 401)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def hub() -> Generator[str]:
    _Hub.asked.clear()
    server = HTTPServer(("127.0.0.1", 0), _Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_the_hub_is_asked_for_the_config_with_the_token(hub: str):
    assert hub_status("meta/llama", revision=None, token=None, hub=hub) == 401
    assert hub_status("meta/llama", revision="v 1", token=f"{_TOKEN}\n", hub=hub) == 200
    assert _Hub.asked[1] == ("HEAD", "/meta/llama/resolve/v%201/config.json", f"Bearer {_TOKEN}")


def test_a_redirect_is_not_followed_so_that_the_token_goes_nowhere_else(hub: str):
    assert hub_status("moved/llama", revision=None, token=_TOKEN, hub=hub) == 307
    assert len(_Hub.asked) == 1


def test_a_hub_that_does_not_answer_is_told_without_the_token():
    with pytest.raises(AwsRefusal) as refused:
        hub_status("meta/llama", revision=None, token=_TOKEN, hub="http://127.0.0.1:1")
    assert "does not answer" in str(refused.value)
    assert _TOKEN not in str(refused.value)


def test_the_token_is_read_only_when_the_hub_is_asked_and_never_shown(
    check: Check, aws: LocalAws, hub: str, monkeypatch: pytest.MonkeyPatch
):
    def of_test(model_id: str, *, revision: str | None, token: str | None) -> int:
        return hub_status(model_id, revision=revision, token=token, hub=hub)

    monkeypatch.setattr(models, "hub_status", of_test)
    arn = aws.client("secretsmanager").create_secret(Name="hub-token", SecretString=_TOKEN)["ARN"]
    aws.refuse_calls("AccessDeniedException", service="secretsmanager", operation="GetSecretValue")
    try:
        without = check(_FLEET % arn, "--only", "models")
        denied = check(_FLEET % arn, "--only", "models", "--hub")
    finally:
        aws.refuse_calls("AccessDeniedException", times=0)
    assert without.code == 0, without.out + without.err
    assert "Hub's token of the export of service chat" in without.out
    assert denied.code == 3
    assert "secretsmanager:GetSecretValue" in denied.out
    asked = check(_FLEET % arn, "--only", "models", "--hub", "--json")
    assert asked.rows["model example/gated-1b on the Hub"]["detail"] == "the Hub answers 200 to its config.json"
    assert _Hub.asked[0][2] == f"Bearer {_TOKEN}"
    assert all(_TOKEN not in text for told in (without, denied, asked) for text in (told.out, told.err))
