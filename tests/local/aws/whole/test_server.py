"""The server as a process: its command line, its manners."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tools.synth_environment import ROOT


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple["subprocess.Popen[str]", dict[str, Any], Path]]:
    ready = tmp_path / "ready.json"
    command = [sys.executable, "-m", "local.aws", "serve", "--ready-file", str(ready), "--account", "210987654321"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not ready.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield process, json.loads(ready.read_text()), ready
    process.kill()
    process.wait()


def test_it_says_what_to_export_listens_on_loopback_only_and_stops_when_told(
    served: tuple["subprocess.Popen[str]", dict[str, Any], Path],
) -> None:
    process, told, ready = served
    port = int(told["endpoint"].rsplit(":", 1)[1])
    assert told["endpoint"].startswith("http://localhost:")
    assert told["pid"] == process.pid
    with urlopen(f"{told['endpoint']}/_local-aws/health") as answer:
        assert json.loads(answer.read()) == {"status": "ok"}
    listening = Path("/proc/net/tcp").read_text()
    assert f"0100007F:{port:04X}" in listening
    assert f"00000000:{port:04X}" not in listening

    identity = subprocess.run(
        [sys.executable, "-c", "import boto3; print(boto3.client('sts').get_caller_identity()['Account'])"],
        env={**os.environ, **_exports(process)},
        capture_output=True,
        text=True,
    )
    assert identity.stdout.strip() == "210987654321", identity.stderr

    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    assert not ready.exists()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_what_moto_lacks_is_refused_without_a_traceback(
    served: tuple["subprocess.Popen[str]", dict[str, Any], Path],
) -> None:
    _, told, _ = served
    request = Request(
        told["endpoint"],
        data=b"{}",
        headers={
            "X-Amz-Target": "com.amazonaws.cloudtrail.v20131101.CloudTrail_20131101.GetInsightSelectors2",
            "Authorization": "AWS4-HMAC-SHA256 Credential=a/20261120/us-west-2/cloudtrail/aws4_request, Signature=b",
            "Content-Type": "application/x-amz-json-1.1",
        },
    )
    with pytest.raises(HTTPError) as refused:
        urlopen(request)
    assert refused.value.code == 501
    assert b"has not been implemented in this emulation" in refused.value.read()


def _exports(process: "subprocess.Popen[str]") -> dict[str, str]:
    """Read the lines that the server prints for a shell."""
    assert process.stdout
    found: dict[str, str] = {}
    while "CDK_DEFAULT_REGION" not in found:
        name, _, value = process.stdout.readline().strip().removeprefix("export ").partition("=")
        found[name] = value
    return {name: value for name, value in found.items() if value}
