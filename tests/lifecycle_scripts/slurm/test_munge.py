"""The step munge: the platform's key, or one on shared storage."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.node import Node
from llm_fleet_node.slurm import munge_key
from llm_fleet_node.steps import munge
from llm_fleet_node.steps.munge import STEP
from tests.lifecycle_scripts.convergence import applied, assert_fails, converges
from tests.lifecycle_scripts.slurm.slurm_node import IGNORED, bare, calls, fails, on_ami, runs, starts, with_manifest
from tests.lifecycle_scripts.step_node import file

SHARED = "fsx/.llm-fleet/train/munge.key"


def controller(root: Path) -> Node:
    return bare(root, "Controller")


def test_the_platforms_key_is_used_unchanged(tmp_path: Path) -> None:
    node = on_ami(tmp_path)
    assert [change for change in applied(STEP, node) if "munge.key" in change] == []
    assert runs(tmp_path, "munge")
    assert applied(STEP, node) == []


def test_it_converges_after_a_kill_at_any_point(tmp_path: Path) -> None:
    assert converges(STEP, on_ami, tmp_path, ignore=IGNORED) == 2


def test_it_converges_after_a_kill_on_a_controller_without_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(munge_key.os, "urandom", b"k".__mul__)
    assert converges(STEP, controller, tmp_path, ignore=IGNORED) == 6


def test_munge_is_restarted_if_its_key_is_newer(tmp_path: Path) -> None:
    node = on_ami(tmp_path)
    applied(STEP, node)
    time.sleep(0.1)  # longer than the kernel's tick, the unit of a process's start time
    file(tmp_path, "/etc/munge/munge.key", "another", 0o600)
    with pytest.raises(Failure, match=r"LFN57  munge runs with an old key"):
        STEP.verify(node)
    assert applied(STEP, node) == ["restarted munge"]
    assert applied(STEP, node) == []


def test_a_missing_key_of_the_platform_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(munge, "_SECONDS", 0.1)
    node = on_ami(tmp_path)
    file(tmp_path, "/etc/munge/munge.key", "")
    with pytest.raises(Failure, match=r"LFN56"):
        STEP.apply(node)
    with pytest.raises(Failure, match=r"LFN56"):
        STEP.verify(node)


def test_the_controller_makes_one_key_and_workers_use_it(tmp_path: Path) -> None:
    head = bare(tmp_path / "head", "Controller")
    applied(STEP, head)
    made = (tmp_path / "head" / SHARED).read_text()
    assert len(made) > 100
    assert (tmp_path / "head" / SHARED).stat().st_mode & 0o777 == 0o400
    assert (tmp_path / "head" / SHARED).parent.stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "head/etc/munge/munge.key").read_text() == made
    worker = bare(tmp_path / "worker")
    file(tmp_path / "worker", SHARED, made)
    applied(STEP, worker)
    key = tmp_path / "worker/etc/munge/munge.key"
    assert (key.read_text(), key.stat().st_mode & 0o777) == (made, 0o400)
    assert applied(STEP, worker) == []


@pytest.mark.parametrize("path", ["fsx/.llm-fleet", "fsx/.llm-fleet/train", SHARED])
def test_a_key_that_other_users_could_have_written_is_rejected(tmp_path: Path, path: str) -> None:
    node = bare(tmp_path)
    file(tmp_path, SHARED, "known to others")
    (tmp_path / path).chmod(0o777)
    with pytest.raises(
        Failure,
        match=rf"LFN56  /{path} must belong to root, be writable only for root and .* \(mode .rwxrwxrwx, owner ",
    ):
        STEP.apply(node)
    assert not (tmp_path / "etc/munge/munge.key").exists()


def test_no_key_is_made_in_a_folder_of_another_user(tmp_path: Path) -> None:
    node = controller(tmp_path)
    (tmp_path / "fsx/.llm-fleet").mkdir()
    (tmp_path / "fsx/.llm-fleet").chmod(0o777)
    with pytest.raises(
        Failure, match=r"LFN56  /fsx/\.llm-fleet must belong to root, be writable only for root and not be a link"
    ):
        STEP.apply(node)
    assert list((tmp_path / "fsx/.llm-fleet").iterdir()) == []


def test_a_link_at_the_path_of_the_key_is_rejected(tmp_path: Path) -> None:
    node = bare(tmp_path)
    file(tmp_path, "/fsx/theirs", "known to others")
    (tmp_path / SHARED).parent.mkdir(parents=True)
    (tmp_path / SHARED).symlink_to(tmp_path / "fsx/theirs")
    with pytest.raises(
        Failure,
        match=r"LFN56  .*munge\.key must belong to root, be writable only for root and not be a link \(mode lrwxrwxrwx",
    ):
        STEP.apply(node)


def test_an_existing_key_is_never_replaced(tmp_path: Path) -> None:
    node = bare(tmp_path, "Controller")
    file(tmp_path, SHARED, "of another controller", 0o400)
    applied(STEP, node)
    assert (tmp_path / SHARED).read_text() == "of another controller"
    assert os.listdir((tmp_path / SHARED).parent) == ["munge.key"]


def test_of_two_controllers_only_one_makes_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(length: int) -> bytes:
        file(tmp_path, SHARED, "of the one that was faster", 0o400)
        return b"k" * length

    monkeypatch.setattr(munge_key.os, "urandom", slowly)
    applied(STEP, bare(tmp_path, "Controller"))
    assert (tmp_path / "etc/munge/munge.key").read_text() == "of the one that was faster"
    assert os.listdir((tmp_path / SHARED).parent) == ["munge.key"]


def test_a_worker_makes_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(munge_key, "_SECONDS", 0.1)
    with pytest.raises(Failure, match=r"LFN56  no key in /fsx/.llm-fleet/train/munge.key"):
        STEP.apply(bare(tmp_path))
    assert not (tmp_path / SHARED).exists()


def test_without_shared_storage_it_fails(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"LFN56"):
        STEP.apply(with_manifest(bare(tmp_path), mounts=()))


def test_no_key_is_in_a_command_line(tmp_path: Path) -> None:
    node = bare(tmp_path, "Controller")
    applied(STEP, node)
    key = (tmp_path / SHARED).read_text()
    assert not [call for call in calls(tmp_path) if key in call]


def test_a_munged_that_does_not_start_is_reported(tmp_path: Path) -> None:
    node = on_ami(tmp_path)
    fails(tmp_path, "munge")
    with pytest.raises(Failure, match=r"LFN57"):
        STEP.apply(node)


def test_a_credential_that_is_not_decoded_is_reported(tmp_path: Path) -> None:
    node = on_ami(tmp_path)
    starts(tmp_path, "munge")
    STEP.verify(node)
    fails(tmp_path, "unmunge", "unmunge: Error: Invalid credential")
    assert_fails(Code.MUNGE_DOWN, STEP.verify, node, match=r"Invalid credential")
    (tmp_path / "fake/active/munge").unlink()
    with pytest.raises(Failure, match=r"LFN57  munge is not running"):
        STEP.verify(node)
