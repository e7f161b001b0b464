"""Docker and containerd store their data on the chosen disk; their other settings are kept."""

import json
import os
from pathlib import Path

import pytest

from llm_fleet_node import packages
from llm_fleet_node.containers import docker
from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.host import Host
from llm_fleet_node.manifest_parts import Download, Downloads
from llm_fleet_node.node import Node
from llm_fleet_node.steps.docker import STEP
from tests.lifecycle_scripts.containers.docker_programs import lay_down
from tests.lifecycle_scripts.convergence import applied, assert_fails, converges
from tests.lifecycle_scripts.step_node import file, make, said

DAEMON = "/etc/docker/daemon.json"
TOML = "/etc/containerd/config.toml"
PINNED = Download("docker.io", "1.0", "deb", None, "docker.deb", "0" * 64, 1, ())


@pytest.fixture(autouse=True)
def disks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The instance store is another disk than the root, in one folder of the test."""

    def device(host: Host, path: str) -> int:
        place = os.path.realpath(host.path(path))
        return os.stat(place).st_dev + ("/opt/dlami/nvme" in place) * 1000

    monkeypatch.setattr(docker, "_device", device)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    lay_down(tmp_path)
    return make(tmp_path)


def calls(node: Node) -> list[str]:
    return (node.host.read("/calls") or "").splitlines()


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("containerd", [True, False])
def test_data_goes_to_the_planned_disk(tmp_path: Path, containerd: bool, running: bool) -> None:
    layout = lay_down(tmp_path, containerd=containerd, running=running)
    node = make(tmp_path)
    STEP.apply(node)
    STEP.verify(node)
    assert json.loads(node.host.read(DAEMON) or "") == {"data-root": layout.docker}
    assert (node.host.read(TOML) is not None) == containerd
    assert node.host.read("/state/docker.service.enabled") == ""


def test_a_second_time_nothing_is_changed_or_restarted(node: Node) -> None:
    STEP.apply(node)
    assert calls(node) == ["restart containerd.service docker.service"]
    assert applied(STEP, node) == []
    assert len(calls(node)) == 1


def test_it_converges_after_a_kill_at_any_effect(tmp_path: Path) -> None:
    def fresh(root: Path) -> Node:
        lay_down(root)
        return make(root)

    assert converges(STEP, fresh, tmp_path, ignore=["/calls"]) == 3


def test_other_keys_of_daemon_json_are_kept(node: Node) -> None:
    file(node.host.root, DAEMON, '{"runtimes": {"nvidia": {"path": "x"}}, "data-root": "/old", "debug": true}', 0o600)
    STEP.apply(node)
    assert json.loads(node.host.read(DAEMON) or "") == {
        "runtimes": {"nvidia": {"path": "x"}}, "data-root": "/opt/dlami/nvme/docker", "debug": True,
    }  # fmt: skip
    assert node.host.path(DAEMON).stat().st_mode & 0o777 == 0o600


def test_a_correct_daemon_json_is_not_changed(node: Node) -> None:
    text = '{   "data-root":"/opt/dlami/nvme/docker" }'
    file(node.host.root, DAEMON, text)
    STEP.apply(node)
    assert node.host.read(DAEMON) == text


@pytest.mark.parametrize("text", ['{"a": 1}\n{"data-root": "/x"}\n', "[]", "{"])
def test_an_invalid_daemon_json_is_reported_and_not_changed(node: Node, text: str) -> None:
    file(node.host.root, DAEMON, text)
    failure = assert_fails(Code.CONTAINER_CONFIG, STEP.apply, node, match=DAEMON)
    assert failure.final
    assert node.host.read(DAEMON) == text
    assert calls(node) == []


def test_an_empty_daemon_json_is_accepted(node: Node) -> None:
    file(node.host.root, DAEMON, " \n")
    STEP.apply(node)
    STEP.verify(node)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('version = 2\n\n[plugins]\n  root = "/p"\n', 'version = 2\n\nroot = "{}"\n[plugins]\n  root = "/p"\n'),
        ('# by the image\nroot = "/old"\nstate = "/run"\n', '# by the image\nroot = "{}"\nstate = "/run"\n'),
        ('disabled_plugins = ["cri"]\n', 'disabled_plugins = ["cri"]\nroot = "{}"\n'),
        ("", 'version = 2\nroot = "{}"\n'),
    ],
)
def test_containerds_other_lines_are_kept(node: Node, before: str, after: str) -> None:
    file(node.host.root, TOML, before)
    STEP.apply(node)
    STEP.verify(node)
    assert node.host.read(TOML) == after.format("/opt/dlami/nvme/containerd")


def test_running_containers_are_kept_and_the_node_passes(node: Node) -> None:
    """Containers that the image started before the hook, e.g. exporters, must not fail the node."""
    file(node.host.root, "/state/containers", "train-1\ntrain-2\n")
    STEP.apply(node)
    assert calls(node) == []
    STEP.verify(node)
    assert "Docker has its data in /var/lib/docker instead of /opt/dlami/nvme/docker" in said(node)
    assert "not changed: containers are running: train-1, train-2" in said(node)
    assert json.loads(node.host.read(DAEMON) or "")["data-root"] == "/opt/dlami/nvme/docker", "from its next start on"


def test_any_folder_on_the_chosen_disk_is_accepted(tmp_path: Path) -> None:
    """The image may have put Docker there before the step, in other folders.

    Source: document awsome-distributed-ai 95b939c utils/install_docker.sh: <disk>/docker/data-root (2026-07).
    """
    lay_down(tmp_path, docker="/opt/dlami/nvme/docker/data-root", containerd_at="/opt/dlami/nvme/containerd/data-root")
    node = make(tmp_path)
    file(tmp_path, DAEMON, '{"data-root": "/opt/dlami/nvme/docker/data-root"}')
    file(tmp_path, "/state/containers", "exporter\n")
    STEP.apply(node)
    STEP.verify(node)
    assert node.host.read(DAEMON) == '{"data-root": "/opt/dlami/nvme/docker/data-root"}'
    assert calls(node) == []


def test_containers_are_ignored_if_all_is_correct(node: Node) -> None:
    STEP.apply(node)
    file(node.host.root, "/state/containers", "train-1\n")
    STEP.apply(node)
    STEP.verify(node)
    assert len(calls(node)) == 1


def test_verify_checks_the_running_daemon_and_not_files(node: Node) -> None:
    STEP.apply(node)
    link = node.host.path("/proc/42/fd/7")
    link.unlink()
    link.symlink_to("/var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db")
    STEP.verify(node)
    assert "containerd has its data in /var/lib/containerd" in said(node)
    file(node.host.root, DAEMON, "{}")
    assert_fails(Code.CONTAINER_DISK, STEP.verify, node, match="containerd has its data in /var/lib/containerd")


def test_verify_detects_a_stopped_docker(node: Node) -> None:
    STEP.apply(node)
    node.host.path("/state/docker.service.active").unlink()
    with pytest.raises(Failure, match="Docker does not run"):
        STEP.verify(node)


def test_verify_detects_a_root_on_another_disk(node: Node) -> None:
    STEP.apply(node)
    docker = node.host.path("/opt/dlami/nvme/docker")
    docker.rmdir()
    docker.symlink_to("/proc")  # another file system
    STEP.verify(node)
    assert "Docker has its data in /opt/dlami/nvme/docker" in said(node)


def test_without_docker_it_is_skipped_unless_the_fleet_pins_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_down(tmp_path, running=False)
    (tmp_path / "usr/bin/dockerd").unlink()
    assert STEP.skip(make(tmp_path)) == "the node has no Docker, and the fleet does not install it"
    assert STEP.skip(make(tmp_path, downloads=Downloads("none", None, (PINNED,))))
    node = make(tmp_path, downloads=Downloads("mirror", "s3://mirror", (PINNED,)))
    assert STEP.skip(node) is None
    requested: list[object] = []
    monkeypatch.setattr(packages, "install", lambda node, names: requested.append(names))  # pyright: ignore
    STEP.apply(node)
    assert requested == [["docker.io"]]
    STEP.verify(node)
