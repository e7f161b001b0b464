"""Commands to Docker and Podman, with a strict stand-in: unknown commands fail."""

import json
import os
from pathlib import Path

import pytest

from llm_fleet_local.drill.image.prerequisites import MissingPrerequisite
from llm_fleet_local.drill.nodes import choose
from llm_fleet_local.drill.nodes.backend import NodePlan
from llm_fleet_local.drill.nodes.docker_engine import Engine, clear_containers, find_engine
from llm_fleet_local.drill.nodes.docker_node import DockerNode
from llm_fleet_local.drill.nodes.node import NodeError
from llm_fleet_local.drill.nodes.unshare_node import ENVIRONMENT

DOCKER = Engine(("docker",), "docker", legacy_groups=False, may_raise_limits=True)
LEGACY = Engine(("podman", "--log-level=error", "--runtime=runc"), "podman", legacy_groups=True, may_raise_limits=False)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def play(programs: Path, name: str, answers: dict[str, tuple[int, str]]) -> Path:
    """Install a program that supports exactly these command lines and records each; return the record."""
    requested = programs / f"{name}.requested"
    cases = "".join(f"'{line}') printf '%s' '{said}'; exit {code} ;;\n" for line, (code, said) in answers.items())
    text = f"""#!/bin/sh
echo "$*" >>{requested}
case "$*" in
{cases}*) echo "unknown: $*" >&2; exit 125 ;;
esac
"""
    (programs / name).write_text(text)
    (programs / name).chmod(0o755)
    return requested


def info(**reported: object) -> tuple[int, str]:
    return 0, json.dumps(reported)


INFO = "info --format={{json .}}"


def test_docker_is_preferred(programs: Path) -> None:
    play(programs, "docker", {INFO: info(CgroupVersion="2")})
    play(programs, "podman", {INFO: info(host={"cgroupVersion": "v2"})})
    engine = find_engine()
    assert engine is not None
    assert (engine.program, engine.legacy_groups) == (("docker",), False)


@pytest.mark.parametrize("docker", [(1, ""), info(ServerErrors=["Cannot connect to the Docker daemon"])])
def test_a_client_without_its_engine_does_not_count(programs: Path, docker: tuple[int, str]) -> None:
    play(programs, "docker", {INFO: docker})
    assert find_engine() is None
    play(programs, "podman", {INFO: info(host={"cgroupVersion": "v1"})})
    engine = find_engine()
    assert engine is not None
    assert engine.program == ("podman", "--log-level=error", "--runtime=runc")


def test_only_the_requested_engine_is_searched(programs: Path) -> None:
    play(programs, "podman", {INFO: info(host={"cgroupVersion": "v2"})})
    assert find_engine(("docker",)) is None


@pytest.mark.parametrize("engine", [DOCKER, LEGACY])
def test_a_container_gets_neither_the_machines_devices_nor_its_clock(engine: Engine) -> None:
    options = engine.container_options()
    assert "--privileged" not in options
    assert {"--cap-drop=SYS_TIME", "--cap-drop=SYS_MODULE", "--cap-drop=SYS_RAWIO"} <= set(options)


def test_control_groups_are_private_in_v2_and_the_machines_in_v1() -> None:
    assert "--cgroupns=private" in DOCKER.container_options()
    assert not [option for option in DOCKER.container_options() if option.startswith("--volume")]
    assert "--cgroupns=host" in LEGACY.container_options()
    # Never over /sys/fs/cgroup itself: systemd makes that read-only, for the machine too.
    assert "--volume=/sys/fs/cgroup:/control-groups:rw" in LEGACY.container_options()
    assert "SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1" in LEGACY.init_arguments()
    assert DOCKER.init_arguments() == []


def test_limits_are_not_requested_if_they_are_not_available() -> None:
    assert "--cap-drop=SYS_RESOURCE" in LEGACY.container_options()
    assert "--ulimit=nofile=20000:20000" in LEGACY.container_options()
    assert not [option for option in DOCKER.container_options() if "ulimit" in option or "RESOURCE" in option]


def test_a_node_is_created_with_its_name_address_and_mounts(tmp_path: Path) -> None:
    plan = NodePlan("ip-10-66-1-1", "10.66.1.1", {"/fsx": tmp_path}, {"/opt/dlami/nvme": "16M"})
    made = DockerNode(plan, DOCKER, "image:1", "c-ip-10-66-1-1", "net", "10.66.0.1").creation()
    assert made[:2] == ["run", "--detach"]
    assert {
        "--name=c-ip-10-66-1-1",
        "--hostname=ip-10-66-1-1",
        "--network=net",
        "--ip=10.66.1.1",
        "--mac-address=02:42:0a:42:01:01",
        f"--volume={tmp_path}:/fsx",
        "--tmpfs=/opt/dlami/nvme:rw,exec,dev,suid,mode=755,size=16M",
    } <= set(made)
    assert made[-3:] == ["first.sh", "ip-10-66-1-1", "10.66.0.1"]
    assert made[made.index("--entrypoint=/bin/bash") + 1] == "image:1"


def test_values_of_variables_are_on_no_command_line(programs: Path) -> None:
    own = " ".join(f"--env={name}={value}" for name, value in ENVIRONMENT.items())
    line = f"exec --interactive {own} --env=SECRET --env=LLM_FLEET_DRILL_COMMAND c true"
    requested = play(programs, "docker", {"inspect --format={{.State.Running}} c": (0, "true"), line: (0, "")})
    DockerNode(NodePlan("n", "10.66.1.1"), DOCKER, "i", "c", "net", "10.66.0.1").run("true", env={"SECRET": "hush"})
    assert "hush" not in requested.read_text()


def test_only_the_clusters_containers_and_network_are_deleted(programs: Path) -> None:
    answers = {
        "ps --all --quiet --filter=name=^llm-fleet-drill-a1b2-": (0, "111\n222\n"),
        "rm --force --volumes 111 222": (0, ""),
        "network ls --format={{.Name}}": (0, "bridge\nllm-fleet-drill-a1b2\nllm-fleet-drill-a1b2c3\n"),
        "network rm llm-fleet-drill-a1b2": (0, ""),
    }
    requested = play(programs, "docker", answers)
    clear_containers(DOCKER, "a1b2")
    assert requested.read_text().splitlines() == list(answers)


def test_errors_of_an_engine_are_reported(programs: Path) -> None:
    play(programs, "docker", {})
    with pytest.raises(NodeError, match=r"`docker network rm x` ended with 125: unknown: network rm x"):
        DOCKER.run("network", "rm", "x")


def test_a_machine_without_any_back_end_is_reported_with_the_remedy(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(MissingPrerequisite, match=r"start one, or run the drill as root on Linux"):
        choose.make_backend(programs, "auto")
    with pytest.raises(MissingPrerequisite, match=r"unknown back end 'vm'; choose one of auto, unshare, docker"):
        choose.make_backend(programs, "vm")
