"""Checks of models on the Hub, and of running images."""

import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from llm_fleet.cli.check import images_and_models as models
from llm_fleet.cli.check.images_and_models import ask_running_images, features_of, hub_status
from llm_fleet.cli.check.question import Account, Answer
from llm_fleet.cli.clients import AwsClients, AwsRefusal
from llm_fleet.fleet_file.load import load_fleet
from llm_fleet_local.aws.client import LocalAws
from tests.cli.check.conftest import TRN1, Check, refusing
from tests.pains.reported import reported

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
    requested: ClassVar[list[tuple[str, str, str | None]]] = []

    def do_HEAD(self) -> None:
        token = self.headers.get("Authorization")
        self.requested.append((self.command, self.path, token))
        if "moved" in self.path:
            self.send_response(307)
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        else:
            self.send_response(200 if token == f"Bearer {_TOKEN}" else 401)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def hub() -> Generator[str]:
    _Hub.requested.clear()
    server = HTTPServer(("127.0.0.1", 0), _Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_the_hub_is_queried_with_the_token(hub: str):
    assert hub_status("meta/llama", revision=None, token=None, hub=hub) == 401
    assert hub_status("meta/llama", revision="v 1", token=f"{_TOKEN}\n", hub=hub) == 200
    assert _Hub.requested[1] == ("HEAD", "/meta/llama/resolve/v%201/config.json", f"Bearer {_TOKEN}")


def test_a_redirect_is_not_followed_so_that_no_other_host_gets_the_token(hub: str):
    assert hub_status("moved/llama", revision=None, token=_TOKEN, hub=hub) == 307
    assert len(_Hub.requested) == 1


def test_a_hub_that_does_not_respond_is_reported_without_the_token():
    with pytest.raises(AwsRefusal) as refused:
        hub_status("meta/llama", revision=None, token=_TOKEN, hub="http://127.0.0.1:1")
    assert "does not respond" in str(refused.value)
    assert _TOKEN not in str(refused.value)


def test_the_token_is_read_only_with_the_option_hub_and_never_printed(
    check: Check, aws: LocalAws, hub: str, monkeypatch: pytest.MonkeyPatch
):
    def of_test(model_id: str, *, revision: str | None, token: str | None) -> int:
        return hub_status(model_id, revision=revision, token=token, hub=hub)

    monkeypatch.setattr(models, "hub_status", of_test)
    arn = aws.client("secretsmanager").create_secret(Name="hub-token", SecretString=_TOKEN)["ARN"]
    with refusing(aws, "AccessDeniedException", service="secretsmanager", operation="GetSecretValue"):
        without = check(_FLEET % arn, "--only", "models")
        denied = check(_FLEET % arn, "--only", "models", "--hub")
    assert without.code == 0, without.out + without.err
    assert "Hub token of the export of service chat" in without.out
    assert denied.code == 3
    assert "secretsmanager:GetSecretValue" in denied.out
    requested = check(_FLEET % arn, "--only", "models", "--hub", "--json")
    assert requested.rows["model example/gated-1b on the Hub"]["detail"] == "the Hub returns 200 for its config.json"
    assert _Hub.requested[0][2] == f"Bearer {_TOKEN}"
    assert all(_TOKEN not in text for reported in (without, denied, requested) for text in (reported.out, reported.err))


_DATABASE = """
    accounting:
      endpoint: slurm.cluster-abc.us-west-2.rds.amazonaws.com
      secret: arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf
"""


class _Described(Account):
    """Returns DescribeCluster's response with releases that the AWS emulator does not have."""

    def __init__(self, release: str | None) -> None:
        super().__init__(AwsClients(region="us-west-2"))
        group = {"InstanceGroupName": "trn1", **({} if release is None else {"CurrentImageReleaseVersion": release})}
        self._reported = {"InstanceGroups": [group]}

    def ask(self, service: str, operation: str, *, first_page: bool = False, **parameters: Any) -> dict[str, Any]:
        assert (service, operation, parameters) == ("sagemaker", "describe_cluster", {"ClusterName": "train"})
        return self._reported


def _requested(folder: Path, release: str | None, text: str = TRN1) -> Answer:
    file = folder / "fleet.yaml"
    file.write_text(text, encoding="utf-8")
    cluster = load_fleet(file).hyperpod_clusters["train"]
    return ask_running_images(cluster, "train", features_of(cluster), _Described(release))


def test_an_image_too_old_for_a_feature_is_reported_with_the_update_command(tmp_path: Path):
    (problem,) = _requested(tmp_path, "2026-01-10").problems
    reported(6, problem.message, "(SlurmConfig) requires a release of 2026-01-25 or later")
    assert "aws sagemaker update-cluster-software --cluster-name train --region us-west-2`" in problem.remedy
    assert "llm-fleet upgrade train" in problem.remedy


def test_a_database_outside_the_cluster_requires_a_newer_image(tmp_path: Path):
    (problem,) = _requested(tmp_path, "20260701", TRN1.rstrip() + _DATABASE).problems
    assert "an accounting database outside of the cluster requires a release of 2026-08-31 or later" in problem.message


@pytest.mark.parametrize(
    ("release", "detail"),
    [
        ("2026-09-01", "2026-09-01"),
        ("1.2.0", "1.2.0"),
        ("20269999", "20269999"),
    ],
)
def test_an_image_that_is_new_or_has_no_date_is_good(tmp_path: Path, release: str, detail: str):
    answer = _requested(tmp_path, release)
    assert (answer.checked, answer.detail, list(answer.problems)) == (True, detail, [])


def test_an_image_without_a_release_is_not_checked(tmp_path: Path, check: Check, monkeypatch: pytest.MonkeyPatch):
    answer = _requested(tmp_path, None)
    assert (answer.checked, answer.detail) == (False, "AWS does not return its release")

    def ask(*_: object) -> Answer:
        return answer

    monkeypatch.setattr(models, "ask_running_images", ask)
    checked = check(TRN1, "--only", "images", "--json")
    row = checked.rows["image of cluster train"]
    assert (row["verdict"], row["detail"], checked.code) == ("not checked", "AWS does not return its release", 0)
