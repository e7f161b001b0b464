"""`download` from the Hub: a stand-in on loopback, queried by the real huggingface_hub."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from llm_fleet_training.failures import Failure
from llm_fleet_training.weights.hub_failures import HubFailures
from tests.llm_fleet_training.conftest import PACKAGES, SCRIPTS
from tests.llm_fleet_training.stand_ins.hub import COMMIT, GOOD, STRANGER, StandInHub
from tests.llm_fleet_training.tiny_model import put

WANTED = {
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "LICENSE.txt",
    "model.safetensors.index.json",
    "model-00001-of-00002.safetensors",
    "model-00002-of-00002.safetensors",
}
BIG = "model-00002-of-00002.safetensors"


def _download(to: Path, *more: str, model: str = "owner/tiny") -> int:
    from llm_fleet_training.__main__ import main

    return main(["download", "--model", model, "--to", str(to), *more])


def _refused(capsys: pytest.CaptureFixture[str], to: Path, *more: str, model: str = "owner/tiny", code: int = 3) -> str:
    assert _download(to, *more, model=model) == code
    assert not to.exists(), "an incomplete folder must not exist"
    said = capsys.readouterr().err
    assert "  remedy: " in said
    return said


def test_required_files_are_downloaded_at_one_commit_and_recorded(hub: StandInHub, tmp_path: Path):
    to = tmp_path / "weights"
    assert _download(to) == 0
    assert {path.name for path in to.iterdir()} == WANTED | {"download.json"}
    assert all((to / name).read_bytes() == hub.files[name] for name in WANTED)
    said = json.loads((to / "download.json").read_text())
    assert (said["source"], said["revision"], said["asked"], said["weights"]) == (  # codespell:ignore asked
        "owner/tiny",
        COMMIT,
        None,
        True,
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == [".weights.lock", "weights"]


def test_a_second_run_sends_no_request(hub: StandInHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    to = tmp_path / "weights"
    assert _download(to, "--revision", "v1") == 0
    hub.requested.clear()
    for revision in ("v1", COMMIT):
        assert _download(to, "--revision", revision) == 0
    assert hub.requested == []
    assert _download(to, "--revision", "v2") == 3
    assert f"LFJ12: {to} holds owner/tiny at {COMMIT}, not owner/tiny at v2" in capsys.readouterr().err


def test_only_config_and_tokenizer(hub: StandInHub, tmp_path: Path):
    to = tmp_path / "weights"
    assert _download(to, "--without-weights") == 0
    assert {path.name for path in to.iterdir()} == {
        *(name for name in WANTED if "safetensors" not in name),
        "download.json",
    }
    # Weights are downloaded when they are requested later.
    assert _download(to) == 0
    assert (to / BIG).exists()


def test_a_lost_connection_is_resumed(hub: StandInHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 8192)  # 10 MB, of which the rest is lost
    hub.cut[BIG] = 40_000
    assert _download(tmp_path / "weights") == 0
    spans = [span for name, span in hub.fetched() if name == BIG]
    assert spans == ["", "bytes=32768-"]


def test_a_killed_download_keeps_complete_files_and_restarts_incomplete_ones(hub: StandInHub, tmp_path: Path):
    to = tmp_path / "weights"
    hub.stall[BIG] = 40_000
    killed = subprocess.Popen(
        [sys.executable, "-m", "llm_fleet_training", "download", "--model", "owner/tiny", "--to", str(to)],
        env={**os.environ, "PYTHONPATH": f"{SCRIPTS}:{PACKAGES}"},
    )
    part = tmp_path / ".weights.part"
    deadline = time.monotonic() + 30
    whole = WANTED - {BIG}
    while not all((part / name).exists() for name in whole) or not list(part.glob(".cache/**/*.incomplete")):
        assert time.monotonic() < deadline
        assert killed.poll() is None
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.wait(10)
    assert not to.exists()
    hub.stall.clear()
    hub.requested.clear()
    assert _download(to) == 0
    assert [name for name, _ in hub.fetched()] == [BIG]
    assert {path.name for path in to.iterdir()} == WANTED | {"download.json"}


def test_a_hub_lost_during_the_download_is_a_failure(
    hub: StandInHub, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    # huggingface_hub returns the files in the folder if it cannot reach the Hub.
    def lost(*arguments: Any, local_dir: str, **more: Any) -> str:
        Path(local_dir, "config.json").write_bytes(hub.files["config.json"])
        return local_dir

    monkeypatch.setattr("huggingface_hub.snapshot_download", lost)
    said = _refused(capsys, tmp_path / "weights", code=1)
    assert said.startswith("LFJ33: ")
    assert f"{BIG} is missing" in said


@pytest.mark.parametrize("name", [BIG, "config.json"])
def test_files_with_another_hash_are_rejected_and_downloaded_again(
    hub: StandInHub, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
):
    hub.other = {name}
    half = tmp_path / ".weights.part" / ".cache" / "huggingface" / "download"
    orphans = put(half, {f"{'e' * 40}.0a1b2c3d.incomplete": b"of a killed process", f"{'e' * 40}.incomplete": b"old"})
    said = _refused(capsys, tmp_path / "weights", code=1)
    assert said.startswith("LFJ33: ")
    assert f"{name} has other" in said.replace("another SHA-256", "other")
    # Incomplete files are removed; older releases of huggingface_hub resume theirs.
    assert [path.name for path in orphans.glob("*.incomplete")] == [f"{'e' * 40}.incomplete"]
    hub.other = set()
    hub.requested.clear()
    assert _download(tmp_path / "weights") == 0
    assert [each for each, _ in hub.fetched()] == [name]


def test_a_lost_connection_can_be_retried(
    hub: StandInHub, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    error: Any = import_module("httpx2").ConnectError

    def lost(*arguments: Any, **more: Any) -> str:
        raise error("connection refused")

    monkeypatch.setattr("huggingface_hub.snapshot_download", lost)
    assert "LFJ33: " in _refused(capsys, tmp_path / "weights", code=1)


def test_a_token_is_removed_from_messages_of_others():
    failures = HubFailures("owner/tiny", None, token=GOOD, endpoint="https://hub", kind="model")
    with pytest.raises(Failure) as reported:
        failures.raise_for(OSError(f"cannot send Authorization: Bearer {GOOD}"))
    assert str(reported.value).startswith("LFJ33: owner/tiny of https://hub: cannot send Authorization: Bearer …\n")
    assert reported.value.__suppress_context__


def test_a_busy_hub_can_be_retried(hub: StandInHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    hub.busy = 1
    assert _refused(capsys, tmp_path / "weights", code=1).startswith(f"LFJ33: {hub.endpoint} is busy (HTTP 503)")
    assert _download(tmp_path / "weights") == 0


def test_gated_without_a_token(hub: StandInHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    hub.gated = True
    said = _refused(capsys, tmp_path / "weights")
    assert said.startswith("LFJ30: owner/tiny is gated, and no token is set")
    assert hub.fetched() == []


def test_gated_with_a_token_that_has_no_access(
    hub: StandInHub, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    hub.gated = True
    monkeypatch.setenv("HF_TOKEN", STRANGER)
    said = _refused(capsys, tmp_path / "weights")
    assert said.startswith("LFJ31: ")
    assert "its license was not accepted" in said
    assert STRANGER not in said
    assert hub.fetched() == []


@pytest.mark.parametrize(
    ("model", "revision", "token", "beginning"),
    [
        ("owner/tiny", "", "hf_expired", "LFJ30: the Hub rejects the token"),
        (
            "owner/nothing",
            "",
            "",
            "LFJ32: there is no public model owner/nothing, and no token is set",
        ),
        ("owner/nothing", "", GOOD, "LFJ32: there is no model owner/nothing, or this token's account cannot see it"),
        ("owner/tiny", "nowhere", "", "LFJ32: owner/tiny has no revision 'nowhere'"),
        ("owner/tiny/more", "", "", "LFJ32: 'owner/tiny/more' is not an id of the Hub; write <owner>/<name>"),
    ],
)
def test_requests_that_the_hub_rejects(
    hub: StandInHub,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    revision: str,
    token: str,
    beginning: str,
):
    monkeypatch.setenv("HF_TOKEN", token)
    said = _refused(capsys, tmp_path / "weights", *(["--revision", revision] if revision else []), model=model)
    assert said.startswith(beginning)
    assert not token or token not in said


def test_an_unreachable_hub(
    hub: StandInHub, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert _refused(capsys, tmp_path / "weights").startswith("LFJ33: http://127.0.0.1:9 cannot be reached: ")


def test_the_token_of_a_file_and_of_the_secret(
    hub: StandInHub, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    hub.gated = True
    file = tmp_path / "token"
    file.write_text(f"{GOOD}\n")
    assert _download(tmp_path / "a", "--token-file", str(file)) == 0
    arn = "arn:aws:secretsmanager:us-west-2:111122223333:secret:hub-AbCdEf"
    aws = tmp_path / "bin" / "aws"
    aws.parent.mkdir()
    words = f"secretsmanager get-secret-value --secret-id {arn} --region us-west-2 --query SecretString --output text"
    aws.write_text(f'#!/bin/sh\n[ "$*" = "{words}" ] || exit 99\necho {GOOD}\n')
    aws.chmod(0o755)
    monkeypatch.setenv("PATH", f"{aws.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("LLM_FLEET_HUB_TOKEN_SECRET", arn)
    assert _download(tmp_path / "b") == 0
    out, err = capsys.readouterr()
    assert GOOD not in out + err
    assert hub.tokens == {GOOD}
    aws.write_text("#!/bin/sh\necho 'AccessDeniedException: not authorized to perform GetSecretValue' >&2\nexit 254\n")
    assert "LFJ30: `aws secretsmanager" in _refused(capsys, tmp_path / "c")


def test_disk_space_is_checked_before_the_download(
    hub: StandInHub, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def full(_: object) -> SimpleNamespace:
        return SimpleNamespace(free=1000)

    monkeypatch.setattr("shutil.disk_usage", full)
    assert "LFJ11: downloading owner/tiny of" in _refused(capsys, tmp_path / "weights")
    assert hub.fetched() == []
