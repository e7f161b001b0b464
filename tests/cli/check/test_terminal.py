"""`llm-fleet check` as people and CI run it: a narrow terminal, a pipe, no credentials, Ctrl-C."""

import socket
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from local.aws.client import LocalAws
from tests.cli.check.conftest import TRN1
from tests.terminal import run, run_in_terminal


@pytest.fixture
def fleet(tmp_path: Path) -> str:
    file = tmp_path / "fleet.yaml"
    file.write_text(TRN1, encoding="utf-8")
    return str(file)


@pytest.fixture
def silence() -> Generator[str]:
    """An endpoint that takes calls and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        kept: list[socket.socket] = []

        def accept() -> None:
            try:
                while True:
                    kept.append(server.accept()[0])
            except OSError:
                return

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://localhost:{server.getsockname()[1]}"
        for connection in kept:
            connection.close()


def test_forty_columns_show_blocks_that_fit(aws: LocalAws, fleet: str):
    ran = run_in_terminal("check", fleet, "--only", "offerings", environment=aws.environment, columns=40)
    assert ran.code == 0
    assert max(map(len, ran.lines)) <= 40
    assert "ml.trn1.32xlarge in usw2-az4" in ran.lines
    assert "  verdict: good" in ran.lines


def test_no_credentials_are_told_once_into_a_pipe(aws: LocalAws, fleet: str):
    environment = {key: value for key, value in aws.environment.items() if "KEY" not in key and "TOKEN" not in key}
    ran = run("check", fleet, "--json", environment=environment)
    assert ran.code == 3
    assert ran.err.count("there are no credentials to ask AWS with") == 1
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.out + ran.err


def test_ctrl_c_in_the_middle_ends_at_once_and_quietly(aws: LocalAws, fleet: str, silence: str):
    ran = run_in_terminal(
        "check",
        fleet,
        environment={**aws.environment, "AWS_ENDPOINT_URL_EC2": silence, "AWS_ENDPOINT_URL_SERVICE_QUOTAS": silence},
        interrupt_at=r"1/15",
    )
    assert ran.code == 130
    assert "Traceback" not in ran.raw
