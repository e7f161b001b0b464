"""The scripts that move models between S3 and the disk, with AWS's command line replaced by a recorder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from llm_fleet.lifecycle import model_exporter

SHELLCHECK = str(Path(sys.executable).with_name("shellcheck"))
(FOLDER,) = model_exporter.__path__
AWS = """#!/bin/sh
echo "$*" >> "{log}"
case "$*" in
  "s3 ls"*) printf '%s\\n' '2026-01-01 00:00:00 9 {listed}' ;;
  "s3 cp --recursive"*) {fetched} ;;
esac
"""


@pytest.mark.parametrize("name", ["fetch.sh", "publish.sh"])
def test_shellcheck_finds_nothing(name: str):
    ended = subprocess.run([SHELLCHECK, "--severity=style", f"{FOLDER}/{name}"], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "")


@pytest.mark.parametrize(
    ("listed", "options"),
    [
        ("model.safetensors", "--recursive --no-progress --exclude *.bin"),
        ("pytorch_model.bin", "--recursive --no-progress"),
    ],
)
def test_weights_are_downloaded_once(tmp_path: Path, listed: str, options: str):
    folder = tmp_path / "checkpoint"
    ended, calls = _run(tmp_path, "fetch.sh", listed=listed, fetched=f'touch "{folder}/config.json"')
    assert ended.returncode == 0, ended.stderr
    assert calls == ["s3 ls s3://b/raw/", f"s3 cp {options} s3://b/raw/ {folder}/"]


def test_a_folder_without_a_model_is_reported(tmp_path: Path):
    ended, _ = _run(tmp_path, "fetch.sh")
    assert ended.returncode == 1
    assert ended.stderr.startswith("export-source-missing: s3://b/raw has no config.json")


def test_the_marker_is_deleted_first_and_written_last(tmp_path: Path):
    ended, calls = _run(tmp_path, "publish.sh")
    assert ended.stdout == "export-done: s3://b/tanuki-8b\n"
    assert calls == [
        "s3 rm s3://b/tanuki-8b/llm-fleet-model.json",
        f"s3 cp --recursive --no-progress --exclude llm-fleet-model.json {tmp_path}/model/ s3://b/tanuki-8b/",
        f"s3 cp --no-progress {tmp_path}/model/llm-fleet-model.json s3://b/tanuki-8b/llm-fleet-model.json",
    ]


def test_a_failed_upload_writes_no_marker(tmp_path: Path):
    ended, calls = _run(tmp_path, "publish.sh", fetched="exit 1")
    assert ended.returncode == 1
    assert [call.split()[1] for call in calls] == ["rm", "cp"]
    assert "export-done" not in ended.stdout


def _run(
    work: Path, script: str, *, listed: str = "model.safetensors", fetched: str = ":"
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    programs, log = work / "bin", work / "aws.log"
    programs.mkdir()
    aws = programs / "aws"
    aws.write_text(AWS.format(log=log, listed=listed, fetched=fetched))
    aws.chmod(0o755)
    ended = subprocess.run(
        ["/bin/sh", "-c", Path(FOLDER, script).read_text()],
        env={
            "PATH": f"{programs}:{os.environ['PATH']}",
            "SOURCE": "s3://b/raw",
            "CHECKPOINT": f"{work}/checkpoint",
            "MODEL": f"{work}/model",
            "TARGET": "s3://b/tanuki-8b",
            "MARKER": "llm-fleet-model.json",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return ended, log.read_text().splitlines()
