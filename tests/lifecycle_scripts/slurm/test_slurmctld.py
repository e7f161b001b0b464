"""The step slurmctld: it answers, and runs with its current configuration files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.node import Node
from llm_fleet_node.step import ON_INIT_COMPLETE
from llm_fleet_node.steps import slurmctld
from llm_fleet_node.steps.slurm_conf import STEP as SLURM_CONF
from llm_fleet_node.steps.slurmctld import STEP
from tests.lifecycle_scripts.convergence import again, applied, assert_fails, converges
from tests.lifecycle_scripts.slurm.slurm_node import AGENT, ETC, IGNORED, calls, fails, on_ami, runs, says, starts
from tests.lifecycle_scripts.step_node import file
from tests.pains.reported import reported


def configured(root: Path) -> Node:
    node = on_ami(root, "Controller")
    SLURM_CONF.apply(again(node, root))
    return node


def test_it_is_started_once(tmp_path: Path) -> None:
    node = configured(tmp_path)
    changes = applied(STEP, node)
    assert "started slurmctld" in changes
    assert (tmp_path / "var/spool/slurmctld").is_dir()
    assert applied(STEP, node) == []
    assert "scontrol reconfigure" not in calls(tmp_path)


def test_it_converges_after_a_kill_at_any_point(tmp_path: Path) -> None:
    assert converges(STEP, configured, tmp_path, ignore=IGNORED) >= 5


def test_after_a_reboot_it_starts_after_its_database(tmp_path: Path) -> None:
    applied(STEP, configured(tmp_path))
    link = tmp_path / "etc/systemd/system/multi-user.target.wants/slurmctld.service"
    assert str(link.readlink()) == "/etc/systemd/system/slurmctld.service"
    drop_in = (tmp_path / "etc/systemd/system/slurmctld.service.d/llm-fleet.conf").read_text()
    assert "After=munge.service slurmdbd.service\n" in drop_in
    assert "Restart=on-failure\n" in drop_in


def test_it_is_reconfigured_after_a_change(tmp_path: Path) -> None:
    node = configured(tmp_path)
    applied(STEP, node)
    file(tmp_path, f"{ETC}/topology.conf", "SwitchName=all Nodes=a\n")
    assert applied(STEP, node)[0] == "reconfigured Slurm"
    assert applied(STEP, node) == []


def test_a_reconfigure_by_others_without_the_settings_is_detected(tmp_path: Path) -> None:
    """The platform's agent writes slurm.conf without our line and reconfigures; slurm_conf then puts the line back."""
    node = configured(tmp_path)
    applied(STEP, node)
    file(tmp_path, "/fake/running", AGENT)
    with pytest.raises(Failure, match=r"LFN66  slurmctld runs without Prolog=/opt/llm-fleet/slurm/prolog.sh"):
        STEP.verify(node)
    assert applied(STEP, node) == ["reconfigured Slurm"]


@pytest.mark.parametrize("lost", ["enable_configless", "permit_job_expansion"])
def test_a_missing_item_of_a_list_is_detected(tmp_path: Path, lost: str) -> None:
    node = configured(tmp_path)
    applied(STEP, node)
    running = tmp_path / "fake/running"
    running.write_text(running.read_text().replace(lost, "other"))
    with pytest.raises(Failure, match=f"with {lost}"):
        STEP.verify(node)


def test_slurmd_is_disabled_on_the_controller(tmp_path: Path) -> None:
    node = configured(tmp_path)
    wanted = tmp_path / "etc/systemd/system/multi-user.target.wants"
    wanted.mkdir(parents=True)
    (wanted / "slurmd.service").symlink_to("/etc/systemd/system/slurmd.service")
    starts(tmp_path, "slurmd")
    applied(STEP, node)
    assert not (wanted / "slurmd.service").is_symlink()
    assert not runs(tmp_path, "slurmd")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("slurmctld: fatal: CLUSTER ID MISMATCH.\nslurmctld has been started with ClusterID=1", Code.CLUSTER_ID),
        ('slurmctld: error: Failed to access "/run/munge/munge.socket.2"', Code.MUNGE_DOWN),
        ("slurmctld: fatal: Unable to process configuration file", Code.SLURMCTLD),
        ("", Code.SLURMCTLD),
    ],
)
def test_why_it_does_not_start(tmp_path: Path, words: str, code: Code) -> None:
    node = configured(tmp_path)
    fails(tmp_path, "slurmctld")
    says(tmp_path, "slurmctld", words)
    for part in (STEP.apply, STEP.verify):
        caught = assert_fails(code, part, node)
        assert words.splitlines()[0].removeprefix("slurmctld: ") in caught.cause if words else True


def test_a_running_slurmctld_that_does_not_answer_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurmctld, "_FIRST_SECONDS", 0.1)
    monkeypatch.setattr(slurmctld, "_SECONDS", 0.2)
    node = configured(tmp_path)
    applied(STEP, node)
    scontrol = tmp_path / "opt/slurm/bin/scontrol"
    scontrol.write_text("#!/bin/sh\necho 'Slurmctld(primary) at head is DOWN'\n")
    with pytest.raises(Failure, match=r"LFN66  no answer of slurmctld within 0.2 s"):
        STEP.verify(node)
    says(tmp_path, "slurmctld", "slurmctld: fatal: CLUSTER ID MISMATCH.")
    with pytest.raises(Failure, match=r"LFN65  no answer of slurmctld within 0.1 s: fatal: CLUSTER") as caught:
        STEP.verify(node)
    reported(15, caught.value, "fatal: CLUSTER ID MISMATCH")


def test_a_daemon_that_the_ami_started_is_only_verified(tmp_path: Path) -> None:
    node = replace(on_ami(tmp_path, "Controller"), hook=ON_INIT_COMPLETE)
    starts(tmp_path, "slurmctld")
    assert applied(STEP, node) == []
    (tmp_path / "fake/active/slurmctld").unlink()
    with pytest.raises(Failure, match=r"LFN66  slurmctld is not running"):
        STEP.verify(node)
