"""User data and units: their content, and their effect on a throwaway root."""

import json
import os
import re
import subprocess
from pathlib import Path

import aws_cdk as cdk
import pytest

from llm_fleet.catalog.neuron import host_facts
from llm_fleet.inference.hosts import host_user_data, packed_files
from tests.lifecycle_scripts.inference_host.throwaway_host import SETTINGS, ThrowawayHost
from tests.lifecycle_scripts.inference_host.unpack import files_of, settings_of
from tools.synth_environment import ROOT

SOURCES = ROOT / "lifecycle_scripts" / "inference_host"
SHELLCHECK = ROOT / ".venv" / "bin" / "shellcheck"
ECS = """[Unit]
Description=Amazon Elastic Container Service - container agent
Wants=docker.service
After=docker.service
After=cloud-final.service

[Service]
Type=simple
ExecStart=/usr/libexec/amazon-ecs-init start

[Install]
WantedBy=multi-user.target
"""
"""The parts of amazon-ecs-init's unit that affect the units before it."""


@pytest.fixture(scope="module")
def user_data() -> str:
    stack = cdk.Stack()
    return stack.resolve(host_user_data(stack, SETTINGS))


def test_the_user_data_is_within_ec2s_limit(user_data: str):
    assert len(user_data.encode()) < host_facts().user_data_bytes - 1024, "tokens become longer when they are known"


def test_shellcheck_finds_nothing(user_data: str):
    reported = subprocess.run([SHELLCHECK, "-"], input=user_data, capture_output=True, text=True, check=False)
    assert reported.stdout == ""


def test_a_hanging_host_reports_the_reason_before_cloudformations_timeout():
    unit = (SOURCES / "systemd" / "llm-fleet-host.service").read_text()
    checks, reported = (re.search(rf"^{key}=(\d+)min$", unit, re.M) for key in ("TimeoutStartSec", "TimeoutStopSec"))
    assert checks
    assert reported
    boot_minutes = 2
    assert boot_minutes + int(checks[1]) + int(reported[1]) < host_facts().boot_minutes


def test_without_memory_the_server_is_killed_before_the_mount():
    unit = (SOURCES / "systemd" / "llm-fleet-model.service").read_text()
    assert int(unit.split("OOMScoreAdjust=")[1].split()[0]) < 0


def test_the_text_does_not_depend_on_file_times():
    before = packed_files()
    os.utime(SOURCES / "boot.py")
    assert packed_files() == before


def test_it_contains_the_shipped_files_and_the_settings(user_data: str):
    held = files_of(user_data)
    assert held == {name: (SOURCES / name).read_text() for name in held}
    assert set(held) == shipped()
    assert settings_of(user_data) == SETTINGS


def shipped() -> set[str]:
    """The files of hosts: all except the user data itself."""
    return {
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*")
        if path.suffix in (".py", ".service", ".conf")
    }


def test_a_new_host_starts(host: ThrowawayHost, user_data: str):
    ended = host.run_user_data(user_data)
    assert ended.returncode == 0, ended.stderr
    assert host.ready
    assert [call for call in host.calls() if call.startswith("systemctl")] == [
        "systemctl daemon-reload",
        "systemctl enable llm-fleet-host.service",
        "systemctl start llm-fleet-host.service",
        "systemctl restart llm-fleet-model.service",
    ]
    assert json.loads(host.text("etc/llm-fleet/settings.json")) == SETTINGS
    laid = host.root / "opt/llm-fleet/inference_host"
    files = {path.relative_to(laid).as_posix() for path in laid.rglob("*") if path.is_file()}
    assert {name for name in files if not name.endswith(".pyc")} == shipped()
    assert host.aws.reported()[0]["event"] == "host-ready"


def test_user_data_of_a_rejected_host_ends_with_a_failure(host: ThrowawayHost, user_data: str):
    host.boots_with("2.28.0.0", devices=2)
    ended = host.run_user_data(user_data)
    assert ended.returncode != 0
    assert not host.ready
    assert '"code": "LFN113"' in ended.stdout
    assert host.aws.signals()[0]["Status"] == "FAILURE"


def test_an_ami_without_python_is_rejected_before_files_are_written(host: ThrowawayHost, user_data: str):
    tools = host.root / "no-python"
    tools.mkdir()
    for name in ("bash", "tee", "cat"):
        (tools / name).symlink_to(f"/bin/{name}")
    script = host.root / "user-data"
    script.write_text(user_data)
    environment = {**host.environment(), "PATH": str(tools)}
    (tools / "systemctl").symlink_to(host.root / "usr/bin/systemctl")
    ended = subprocess.run(["/bin/bash", script], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert json.loads(ended.stdout)["code"] == "LFN101"
    assert "LFN101" in host.text("dev/console")
    assert host.calls() == ["systemctl mask --now --no-block ecs.service"]
    assert not (host.root / "opt").exists()


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with the agent's unit, docker's, and the programs that units name."""
    root = tmp_path_factory.mktemp("system")
    units = root / "etc/systemd/system"
    (units / "ecs.service.d").mkdir(parents=True)
    for unit in (*SOURCES.glob("systemd/*.service"), SOURCES / "systemd/ecs.service.d/50-llm-fleet.conf"):
        (units / unit.relative_to(SOURCES / "systemd")).write_text(unit.read_text())
    (units / "ecs.service").write_text(ECS)
    for target in ("sysinit", "basic", "shutdown", "multi-user", "network-online"):
        (units / f"{target}.target").write_text("[Unit]\nDescription=as on every host\n")
    for name in ("docker", "cloud-final"):
        (units / f"{name}.service").write_text("[Service]\nExecStart=/usr/bin/python3\n")
    for program in (
        "usr/bin/python3",
        "usr/bin/mount-s3",
        "usr/bin/umount",
        "usr/bin/mkdir",
        "usr/libexec/amazon-ecs-init",
    ):
        (root / program).parent.mkdir(parents=True, exist_ok=True)
        (root / program).write_text("#!/bin/sh\n")
        (root / program).chmod(0o755)
    return root


def verify(root: Path, *units: str) -> str:
    """Errors of systemd in the units, without those about targets that this root lacks."""
    reported = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", f"--root={root}", *units], capture_output=True, text=True, check=False
    )
    return reported.stdout + reported.stderr


def test_systemd_accepts_the_units(system: Path):
    assert verify(system, "llm-fleet-host.service", "llm-fleet-model.service", "ecs.service") == ""


def test_systemd_reports_an_invalid_unit(system: Path, tmp_path: Path):
    unit = system / "etc/systemd/system/broken.service"
    unit.write_text("[Service]\nType=oneshot\nExecStart=/usr/bin/no-such-program\nRestart=sometimes\n")
    assert "broken.service" in verify(system, "broken.service")
    unit.unlink()


def test_the_mount_and_the_checks_come_before_the_agent():
    host, model = ((SOURCES / f"systemd/llm-fleet-{name}.service").read_text() for name in ("host", "model"))
    assert "\nBefore=ecs.service\n" in host
    assert "\nBefore=ecs.service\n" in model
    gate = (SOURCES / "systemd/ecs.service.d/50-llm-fleet.conf").read_text()
    assert {"Requires=llm-fleet-host.service", "After=llm-fleet-host.service"} <= set(gate.splitlines())
    assert "AssertPathExists=/run/llm-fleet/host-ready" in gate.splitlines()
