"""The step run_at_boot."""

import dataclasses
import json
import os
import shutil
from pathlib import Path

import pytest

from llm_fleet_node.failures import Failure
from llm_fleet_node.node import Node
from llm_fleet_node.steps.run_at_boot import STEP, UNIT
from tests.lifecycle_scripts.base_steps.node_with_systemd import build
from tests.lifecycle_scripts.convergence import applied, converges
from tests.lifecycle_scripts.throwaway_node import Node as Published

KEPT = "opt/llm-fleet/bundles"


def published(folder: Path) -> tuple[Path, str, str]:
    """A bundle as the CDK library publishes it: its folder, content hash and checksum of the scripts."""
    bundle = Published(folder).bundle
    reported = json.loads((bundle / "fleet.json").read_text())
    return bundle, reported["content_hash"], reported["scripts_sha256"]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    return published(tmp_path_factory.mktemp("published"))


def with_bundle(root: Path, bundle: tuple[Path, str, str]) -> Node:
    folder, content_hash, scripts = bundle
    node = build(root, content_hash=content_hash, scripts_sha256=scripts)
    return dataclasses.replace(node, places=dataclasses.replace(node.places, bundle=folder))


def test_the_bundle_is_kept_and_the_unit_runs_it(tmp_path: Path, bundle: tuple[Path, str, str]) -> None:
    node = with_bundle(tmp_path, bundle)
    kept = f"/{KEPT}/{bundle[1]}"
    assert applied(STEP, node) == [
        f"made the folder /{KEPT}",
        f"kept the bundle in {kept}",
        f"wrote /etc/systemd/system/{UNIT}",
        f"linked /etc/systemd/system/multi-user.target.wants/{UNIT} to /etc/systemd/system/{UNIT}",
        f"linked /opt/llm-fleet/current to {kept}",
    ]
    text = (tmp_path / f"etc/systemd/system/{UNIT}").read_text()
    assert f"ExecStart=/bin/bash {kept}/enter.sh OnInitComplete\n" in text
    after = next(line for line in text.splitlines() if line.startswith("After="))
    assert {"slurmd.service", "slurmctld.service", "remote-fs.target"} <= set(after.split("=")[1].split())
    assert "Before=" not in text  # `systemctl start slurmd` would wait for this run, which waits for it
    assert applied(STEP, node) == []


def test_foreign_files_in_the_bundles_folder_are_kept(tmp_path: Path, bundle: tuple[Path, str, str]) -> None:
    node = with_bundle(tmp_path, bundle)
    folder = tmp_path / KEPT
    folder.mkdir(parents=True)
    for name in ("a-file", "." + bundle[1] + ".new", bundle[1]):
        (folder / name).write_text("junk")
    applied(STEP, node)
    assert (folder / bundle[1] / "enter.sh").is_file()
    assert sorted(path.name for path in folder.iterdir()) == sorted(["a-file", bundle[1]])


def test_it_converges_after_a_kill_at_any_point(tmp_path: Path, bundle: tuple[Path, str, str]) -> None:
    def make(root: Path) -> Node:
        return with_bundle(root, bundle)

    assert converges(STEP, make, tmp_path) == 5


def test_an_incomplete_copy_is_made_again(tmp_path: Path, bundle: tuple[Path, str, str]) -> None:
    node = with_bundle(tmp_path, bundle)
    applied(STEP, node)
    script = tmp_path / KEPT / bundle[1] / "enter.sh"
    script.write_text("")
    with pytest.raises(Failure, match=r"LFN06  .*enter\.sh has the digest "):
        STEP.verify(node)
    assert applied(STEP, node) == [f"kept the bundle in /{KEPT}/{bundle[1]}"]


def test_a_temporary_copy_of_a_killed_run_is_removed(tmp_path: Path, bundle: tuple[Path, str, str]) -> None:
    node = with_bundle(tmp_path, bundle)
    (tmp_path / KEPT / ".0123.new").mkdir(parents=True)
    (tmp_path / KEPT / f".{bundle[1]}.new/half").mkdir(parents=True)
    applied(STEP, node)
    assert [path.name for path in (tmp_path / KEPT).iterdir()] == [bundle[1]]


def test_two_bundles_are_kept(tmp_path: Path, bundle: tuple[Path, str, str]) -> None:
    for age, name in enumerate(("newest", "older", "oldest")):
        (tmp_path / KEPT / name).mkdir(parents=True)
        os.utime(tmp_path / KEPT / name, (1000 - age, 1000 - age))
    applied(STEP, with_bundle(tmp_path, bundle))
    assert {path.name for path in (tmp_path / KEPT).iterdir()} == {bundle[1], "newest"}


def test_the_bundle_that_runs_now_is_never_removed(tmp_path: Path, bundle: tuple[Path, str, str]) -> None:
    node = with_bundle(tmp_path, bundle)
    mine = tmp_path / KEPT / "of-my-own"
    shutil.copytree(bundle[0], mine)
    (tmp_path / KEPT / "newer").mkdir()
    os.utime(mine, (1000, 1000))
    applied(STEP, dataclasses.replace(node, places=dataclasses.replace(node.places, bundle=mine)))
    assert {path.name for path in (tmp_path / KEPT).iterdir()} == {bundle[1], "newer", "of-my-own"}


def test_the_old_bundle_is_removed_only_after_the_unit_runs_the_new_one(
    tmp_path: Path, bundle: tuple[Path, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for age, name in enumerate(("newer", "that-the-unit-runs")):
        (tmp_path / KEPT / name).mkdir(parents=True)
        os.utime(tmp_path / KEPT / name, (1000 - age, 1000 - age))

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    node = with_bundle(tmp_path, bundle)
    monkeypatch.setattr(type(node.host), "write", killed)
    with pytest.raises(KeyboardInterrupt):
        STEP.apply(node)
    assert (tmp_path / KEPT / "that-the-unit-runs").is_dir()


def test_on_parallelcluster_the_unit_contains_the_group(tmp_path: Path, bundle: tuple[Path, str, str]) -> None:
    node = dataclasses.replace(with_bundle(tmp_path, bundle), hook="OnNodeConfigured")
    applied(STEP, node)
    text = (tmp_path / f"etc/systemd/system/{UNIT}").read_text()
    assert "/enter.sh OnNodeConfigured --group workers\n" in text


def test_a_link_to_another_bundle_is_reported(tmp_path: Path, bundle: tuple[Path, str, str]) -> None:
    node = with_bundle(tmp_path, bundle)
    applied(STEP, node)
    (tmp_path / "opt/llm-fleet/current").unlink()
    with pytest.raises(Failure, match=r"LFN06  /opt/llm-fleet/current is not "):
        STEP.verify(node)


def test_at_boot_the_copy_runs_itself(tmp_path: Path, bundle: tuple[Path, str, str]) -> None:
    node = with_bundle(tmp_path, bundle)
    applied(STEP, node)
    kept = tmp_path / KEPT / bundle[1]
    assert applied(STEP, dataclasses.replace(node, places=dataclasses.replace(node.places, bundle=kept))) == []


def test_a_unit_that_is_not_enabled_is_reported(tmp_path: Path, bundle: tuple[Path, str, str]) -> None:
    node = with_bundle(tmp_path, bundle)
    applied(STEP, node)
    (tmp_path / f"etc/systemd/system/multi-user.target.wants/{UNIT}").unlink()
    with pytest.raises(Failure, match=f"LFN31  `systemctl is-enabled {UNIT}` ended with 1: disabled"):
        STEP.verify(node)


def test_a_unit_that_runs_something_else_is_reported(tmp_path: Path, bundle: tuple[Path, str, str]) -> None:
    node = with_bundle(tmp_path, bundle)
    applied(STEP, node)
    (tmp_path / f"etc/systemd/system/{UNIT}").write_text("[Service]\nExecStart=/bin/true\n")
    with pytest.raises(Failure, match=rf"LFN06  /etc/systemd/system/{UNIT} does not run"):
        STEP.verify(node)
