"""The server as a process: its command line, start and end."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tools.synth_environment import ROOT

_STARTS_ONE = """
import os, signal
from llm_fleet_local.aws.client import LocalAws

aws = LocalAws()
aws.start()
print(aws._server.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple["subprocess.Popen[str]", dict[str, Any], Path]]:
    ready = tmp_path / "ready.json"
    command = [
        sys.executable,
        "-m",
        "llm_fleet_local.aws",
        "serve",
        "--ready-file",
        str(ready),
        "--account",
        "210987654321",
    ]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not ready.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield process, json.loads(ready.read_text()), ready
    process.kill()
    process.wait()


def test_it_prints_variables_listens_on_loopback_only_and_stops_on_request(
    served: tuple["subprocess.Popen[str]", dict[str, Any], Path],
) -> None:
    process, reported, ready = served
    port = int(reported["endpoint"].rsplit(":", 1)[1])
    assert reported["endpoint"].startswith("http://localhost:")
    assert reported["pid"] == process.pid
    with urlopen(f"{reported['endpoint']}/_local-aws/health") as answer:
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


def test_the_server_ends_with_its_parent_process() -> None:
    """Even if the parent was killed: an interrupted test run leaves no server."""
    ended = subprocess.run([sys.executable, "-c", _STARTS_ONE], cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=60)
    server = int(ended.stdout)
    try:
        handle = os.pidfd_open(server)
    except ProcessLookupError:
        return
    assert select.select([handle], [], [], 20)[0], f"the server {server} lives on"


def _exports(process: "subprocess.Popen[str]") -> dict[str, str]:
    """Return the variables that the server prints for a shell."""
    assert process.stdout
    found: dict[str, str] = {}
    while "CDK_DEFAULT_REGION" not in found:
        name, _, value = process.stdout.readline().strip().removeprefix("export ").partition("=")
        found[name] = value
    return {name: value for name, value in found.items() if value}
