"""`llm-fleet local serve`, as a user runs it."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from llm_fleet.cli.main import main as llm_fleet
from tests.contract.clients import send, user
from tests.local.serving.templates import TGI_ENVIRONMENT, server, template

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "local-serving.md"


@pytest.fixture
def cdk_out(tmp_path: Path) -> Path:
    containers = [server(), {"Name": "collector", "Image": "collector:1"}]
    task = {"Type": "AWS::ECS::TaskDefinition", "Properties": {"ContainerDefinitions": containers}}
    (tmp_path / "Chat.template.json").write_text(template(desired=2, others={"Task": task}))
    return tmp_path


@pytest.fixture
def running(cdk_out: Path) -> Iterator["subprocess.Popen[str]"]:
    command = [
        sys.executable,
        "-m",
        "llm_fleet.cli.main",
        "local",
        "serve",
        str(cdk_out),
        "--until-input-ends",
        "--tasks",
        "1",
    ]
    process = subprocess.Popen(
        [*command, "--token-seconds", "0.001"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    yield process
    process.kill()
    process.communicate()


def reported(process: "subprocess.Popen[str]") -> dict[str, str]:
    """Return its output until it is ready, by the first words of the lines."""
    lines: list[str] = []
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line.rstrip())
        if line.startswith("Ctrl-C"):
            break
    return {found[1]: found[2] for line in lines if (found := re.fullmatch(r"(\w+(?: \w+)?)  +(.+)", line))}


def test_it_serves_with_the_key_that_it_prints_and_ends_on_ctrl_c(running: "subprocess.Popen[str]"):
    words = reported(running)
    url, key = words["base URL"].removesuffix("/v1"), words["API key"]
    status, text = send(url, "POST", "/v1/chat/completions", key=key, body={"messages": user("count to 3")})
    assert (status, '" 1 2 3"' in text) == (200, True)
    assert words["service"].startswith("chat, 1 task of ")
    assert words["service"].endswith(" (these containers of the task do not run here: collector)")
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=10) == 0
    assert running.stderr is not None
    assert running.stderr.read() == ""
    with pytest.raises(ConnectionRefusedError):
        send(url, "GET", "/health")


def test_an_unsupported_template_is_reported_in_one_line(cdk_out: Path, capsys: pytest.CaptureFixture[str]):
    assert llm_fleet(["local", "serve", str(cdk_out / "missing")]) == 1
    assert "`cdk synth` creates it" in capsys.readouterr().err
    assert llm_fleet(["local", "serve", str(cdk_out), "--service", "other"]) == 1
    assert f"there is no service other in {cdk_out}; choose one of: chat\n" in capsys.readouterr().err
    (cdk_out / "empty").mkdir()
    assert llm_fleet(["local", "serve", str(cdk_out / "empty"), "--service", "other"]) == 1
    assert "there is no service behind a load balancer in" in capsys.readouterr().err
    wrong = server(environment={**TGI_ENVIRONMENT, "MAX_BATCH_SIZE": "0"})
    (cdk_out / "Chat.template.json").write_text(template(container=wrong))
    assert llm_fleet(["local", "serve", str(cdk_out)]) == 1
    assert "`max_batch_size` must be > 0" in capsys.readouterr().err


def test_a_port_in_use_is_reported_in_one_line(cdk_out: Path, capsys: pytest.CaptureFixture[str]):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert llm_fleet(["local", "serve", str(cdk_out), "--port", str(port)]) == 1
    reported = capsys.readouterr().err
    assert f"cannot listen on port {port}" in reported
    assert "in use" in reported


@pytest.mark.parametrize(
    "wrong", [["--port", "65536"], ["--tasks", "-1"], ["--time-scale", "0"], ["--token-seconds", "-1"], ["--port", "x"]]
)
def test_numbers_out_of_range_are_rejected(wrong: list[str], cdk_out: Path, capsys: pytest.CaptureFixture[str]):
    assert llm_fleet(["local", "serve", str(cdk_out), *wrong]) == 2
    assert f"argument {wrong[0]}: {wrong[1]} is not" in capsys.readouterr().err


def test_the_page_has_every_option(capsys: pytest.CaptureFixture[str]):
    llm_fleet(["local", "serve", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help", "--until-input-ends"}
    on_page = set(re.findall(r"^\| `(--[a-z-]+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert on_page == options
