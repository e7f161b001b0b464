"""Enroot stores images and containers on the chosen disk, with any previous configuration."""

import json
import os
from pathlib import Path

import pytest

from llm_fleet_node import disks
from llm_fleet_node.containers.enroot import CONF, DROP_INS
from llm_fleet_node.disks.layout import Layout
from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.node import Node
from llm_fleet_node.steps.enroot import STEP
from tests.lifecycle_scripts.convergence import applied, assert_fails, converges
from tests.lifecycle_scripts.step_node import file, make

STAND_IN = Path(__file__).parents[3] / "local/llm_fleet_local/drill/stand_ins/programs/enroot"
AMI = """\
ENROOT_RUNTIME_PATH /run/enroot/user-$(id -u)
ENROOT_DATA_PATH=/var/lib/enroot/user-$(id -u)
#ENROOT_TEMP_PATH ${TMPDIR:-/tmp}
ENROOT_SQUASH_OPTIONS -comp lzo -noD
"""
LAYOUT = Layout.on("/opt/dlami/nvme", "nvme")


def fresh(root: Path, conf: str = AMI, *, drop_ins: bool = True) -> Node:
    file(root, disks.FILE, json.dumps(LAYOUT.as_document()))
    for folder, mode in LAYOUT.folders().items():
        (root / folder.lstrip("/")).mkdir(parents=True, exist_ok=True)
        (root / folder.lstrip("/")).chmod(mode)
    if conf:
        file(root, CONF, conf)
    if drop_ins:
        file(root, f"{DROP_INS}/10-image.conf", "ENROOT_CACHE_PATH /var/cache/enroot\nENROOT_MOUNT_HOME yes\n")
    file(root, "/usr/bin/enroot", STAND_IN.read_text(), 0o755)
    for name in ("bash", "id", "mkdir"):
        (root / "usr/bin" / name).symlink_to(f"/bin/{name}" if name == "bash" else f"/usr/bin/{name}")
    return make(root)


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    monkeypatch.setenv("ENROOT_STAND_IN_ROOT", str(tmp_path))
    return fresh(tmp_path)


def test_only_the_paths_of_the_image_are_changed(node: Node) -> None:
    STEP.apply(node)
    STEP.verify(node)
    text = node.host.read(CONF) or ""
    assert "\nENROOT_SQUASH_OPTIONS -comp lzo -noD\n" in text
    assert "# llm-fleet: was: ENROOT_DATA_PATH=/var/lib/enroot/user-$(id -u)\n" in text
    assert "\nENROOT_DATA_PATH /opt/dlami/nvme/enroot/data/user-$(id -u)\n" in text
    assert "\nENROOT_MOUNT_HOME yes\n" in (node.host.read(f"{DROP_INS}/10-image.conf") or "")
    for folder in ("runtime", "temp"):
        assert node.host.path(f"/opt/dlami/nvme/enroot/{folder}").stat().st_mode & 0o7777 == 0o1777


def test_enroot_itself_uses_them(node: Node) -> None:
    STEP.apply(node)
    STEP.verify(node)
    assert node.host.path(f"/opt/dlami/nvme/enroot/data/user-{os.getuid()}").is_dir()


@pytest.mark.parametrize(("conf", "drop_ins"), [("", True), ("", False), (AMI, False)])
def test_every_configuration_of_an_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, conf: str, drop_ins: bool
) -> None:
    monkeypatch.setenv("ENROOT_STAND_IN_ROOT", str(tmp_path))
    node = fresh(tmp_path, conf, drop_ins=drop_ins)
    STEP.apply(node)
    STEP.verify(node)
    assert applied(STEP, node) == []


def test_it_converges_after_a_kill_at_any_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENROOT_STAND_IN_ROOT", str(tmp_path / "node"))
    assert converges(STEP, fresh, tmp_path) == 5


def test_verify_detects_a_contradicting_line(node: Node) -> None:
    STEP.apply(node)
    file(node.host.root, f"{DROP_INS}/99-later.conf", "ENROOT_DATA_PATH /root-volume\n")
    assert_fails(Code.CONTAINER_DISK, STEP.verify, node, match=r"99-later\.conf sets ENROOT_DATA_PATH to /root-volume")


def test_verify_detects_missing_settings(node: Node) -> None:
    file(node.host.root, CONF, "")
    with pytest.raises(Failure, match="does not set ENROOT_CACHE_PATH"):
        STEP.verify(node)


def test_verify_checks_enroot_and_not_only_files(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    STEP.apply(node)
    monkeypatch.setenv("ENROOT_DATA_PATH", "/dev/null/else")
    with pytest.raises(Failure, match="Enroot does not use"):
        STEP.verify(node)


def test_verify_detects_a_missing_folder(node: Node) -> None:
    STEP.apply(node)
    node.host.path("/opt/dlami/nvme/enroot/temp").rmdir()
    with pytest.raises(Failure, match="there is no folder /opt/dlami/nvme/enroot/temp"):
        STEP.verify(node)


def test_verify_detects_another_disk(node: Node) -> None:
    STEP.apply(node)
    node.host.path("/opt/dlami/nvme/enroot/temp").rmdir()
    node.host.path("/opt/dlami/nvme/enroot/temp").symlink_to("/proc")
    with pytest.raises(Failure, match="is on another disk than /opt/dlami/nvme"):
        STEP.verify(node)


def test_it_is_skipped_without_enroot(tmp_path: Path) -> None:
    assert STEP.skip(make(tmp_path)) == "the node has no Enroot"
    assert STEP.skip(fresh(tmp_path)) is None
