"""An image that is imported once, with the drill's stand-in for Enroot and a hidden login."""

from dataclasses import replace
from pathlib import Path

import pytest

from llm_fleet_node.failures import Failure
from llm_fleet_node.manifest_parts import Environment
from llm_fleet_node.node import Node
from llm_fleet_node.steps.training_environment import STEP
from llm_fleet_node.training import container, registry
from tests.lifecycle_scripts.convergence import again, applied
from tests.lifecycle_scripts.step_node import program, said
from tests.lifecycle_scripts.training.training_node import FOLDER, make, marker, use_drill_fake, with_environment

ECR = "658645717510.dkr.ecr.us-west-2.amazonaws.com"
IMAGE = Environment("smp-1", "container", ("workers",), None, (), f"docker://{ECR}#smp:2.5.1-gpu")


@pytest.fixture
def image_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    monkeypatch.setenv("ENROOT_STAND_IN_ROOT", str(tmp_path))
    monkeypatch.setenv("HOME", "/root")
    use_drill_fake(tmp_path, "enroot")
    seen = "open(root + '/requests', 'a').write(' '.join(a) + chr(10))\n"
    program(tmp_path, "aws", seen + "print('eyJwYXlsb2FkIjoi+/=')")
    return with_environment(make(tmp_path), IMAGE)


def test_an_image_is_imported_once_with_a_hidden_temporary_login(image_node: Node) -> None:
    STEP.apply(image_node)
    STEP.verify(image_node)
    image = image_node.host.path(f"{FOLDER}/environments/smp-1.sqsh")
    assert image.read_bytes().startswith(b"hsqs")
    assert image.stat().st_mode & 0o777 == 0o644
    assert not image_node.host.path(registry.FOLDER).exists()
    assert image_node.host.path("/requests").read_text() == "ecr get-login-password --region us-west-2\n"
    assert "eyJ" not in said(image_node) + str(image_node.host.changes)
    assert marker(image_node, f"{FOLDER}/environments/smp-1.sqsh.json")["size"] == image.stat().st_size
    assert applied(STEP, image_node) == []


def test_the_export_image_is_imported_after_the_training_image(image_node: Node) -> None:
    export = replace(IMAGE, name="tgi-1", image=f"docker://{ECR}#tgi:3.3.6", use="export")
    node = with_environment(image_node, export, IMAGE)
    STEP.apply(node)
    STEP.verify(node)
    placed = [change.split("/")[-1] for change in node.host.changes if change.endswith("in place")]
    assert placed == ["smp-1.sqsh in place", "tgi-1.sqsh in place"]
    node.host.path(f"{FOLDER}/environments/tgi-1.sqsh").unlink()
    with pytest.raises(Failure):
        STEP.verify(node)


def test_only_root_can_read_the_login(image_node: Node) -> None:
    with registry.logged_in(image_node, IMAGE.image or "") as variables:
        folder = Path(variables["ENROOT_CONFIG_PATH"])
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / ".credentials").stat().st_mode & 0o777 == 0o600
        assert (folder / ".credentials").read_text() == f"machine {ECR} login AWS password eyJwYXlsb2FkIjoi+/=\n"
    assert not folder.exists()


def test_a_public_image_needs_no_login(image_node: Node) -> None:
    with registry.logged_in(image_node, "docker://nvcr.io#nvidia/pytorch:25.01-py3") as variables:
        assert variables == {}
    assert not image_node.host.path("/requests").exists()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("sys.exit('AccessDeniedException: not authorized to perform: ecr:GetAuthorizationToken')", "AccessDenied"),
        ("print('two words $(reboot)')", "returned no valid ECR password"),
        ("print()", "returned no valid ECR password"),
    ],
)
def test_a_failed_or_invalid_login_is_reported(image_node: Node, body: str, words: str) -> None:
    program(image_node.host.root, "aws", body)
    with pytest.raises(Failure, match=f"(?s)LFN139 .*{words}"):
        STEP.apply(image_node)
    assert not image_node.host.path(registry.FOLDER).exists()


def test_a_failed_import_leaves_no_image_and_no_login(image_node: Node) -> None:
    node = with_environment(image_node, replace(IMAGE, image=f"docker://{ECR}#smp:no-such-tag"))
    with pytest.raises(Failure, match=r"(?s)LFN138 .*404 Not Found"):
        STEP.apply(node)
    assert list(node.host.path(f"{FOLDER}/environments").iterdir()) == []
    assert not node.host.path(registry.FOLDER).exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("b'hsqs' + bytes(36) + b'\\xff' * 8 + bytes(48)", "is incomplete: 96 of "),
        ("b'#!/bin/sh'", "is not a squashfs"),
    ],
)
def test_an_incomplete_import_is_reported(image_node: Node, content: str, words: str) -> None:
    program(image_node.host.root, "enroot", f"open(a[2], 'wb').write({content})")
    with pytest.raises(Failure, match=rf"LFN138 .*{words}"):
        STEP.apply(image_node)
    assert list(image_node.host.path(f"{FOLDER}/environments").iterdir()) == []


def test_a_node_without_enroot_is_reported(image_node: Node) -> None:
    image_node.host.path("/usr/bin/enroot").unlink()
    with pytest.raises(Failure, match=r"LFN138 .*no Enroot"):
        STEP.apply(image_node)


@pytest.mark.parametrize("bytes_left", [0, 50, 100])
def test_a_truncated_or_replaced_image_is_imported_again(image_node: Node, bytes_left: int) -> None:
    STEP.apply(image_node)
    image = image_node.host.path(f"{FOLDER}/environments/smp-1.sqsh")
    image.write_bytes(image.read_bytes()[:bytes_left])
    with pytest.raises(Failure, match=r"LFN140"):
        STEP.verify(image_node)
    STEP.apply(again(image_node))
    STEP.verify(image_node)


def test_an_image_without_marker_is_incomplete(image_node: Node) -> None:
    STEP.apply(image_node)
    container.marker_of(image_node.host.path(f"{FOLDER}/environments/smp-1.sqsh")).unlink()
    with pytest.raises(Failure, match=r"LFN140 .*the import of .*smp-1.sqsh is incomplete"):
        STEP.verify(image_node)
    STEP.apply(again(image_node))
    STEP.verify(image_node)
