"""The step slurm_ready: which nodes are ready, which are resumed, and which drains are kept."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.node import Node
from llm_fleet_node.slurm.registration import parsed
from llm_fleet_node.step import ON_INIT_COMPLETE, ON_NODE_CONFIGURED
from llm_fleet_node.steps.slurm_ready import STEP
from tests.lifecycle_scripts.convergence import applied, assert_fails
from tests.lifecycle_scripts.slurm.slurm_node import IDLE, OWN, calls, fails, on_ami, starts
from tests.lifecycle_scripts.step_node import file, said

SPOOL = "SlurmdSpoolDir is full"


def worker(root: Path, state: str = "IDLE", reason: str = "", by: str = "root") -> Node:
    """A node whose slurmd runs. slurmctld sets its reasons as SlurmUser, slurmd and users with sudo as root.

    Source: src/slurmctld/node_mgr.c (drain_nodes, set_node_reason) and src/slurmd of Slurm 24.11.
    """
    node = on_ami(root)
    file(root, "/run/slurm/conf/slurm.conf", "SlurmUser=slurm\nSlurmdSpoolDir=/var/spool/slurmd\n")
    (root / "var/spool/slurmd").mkdir(parents=True, exist_ok=True)
    reported = f" Reason={reason} [{by}@2026-11-20T11:00:00]" if reason else ""
    file(root, f"/fake/node/{OWN}", IDLE.replace("IDLE", state) + reported)
    return node


@pytest.mark.parametrize("state", ["IDLE", "MIXED", "ALLOCATED", "COMPLETING", "IDLE+PLANNED"])
def test_a_node_that_accepts_jobs(tmp_path: Path, state: str) -> None:
    assert applied(STEP, worker(tmp_path, state)) == []


@pytest.mark.parametrize(
    ("state", "reason", "by"),
    [
        ("IDLE+DRAIN", "Low RealMemory", "slurm"),
        ("IDLE+DRAIN", "gres/neuron count reported lower than configured (0 < 16)", "slurm"),
        ("MIXED+DRAIN", "Prolog error", "slurm"),
        ("IDLE+DRAIN", "Prolog/Epilog failure", "slurm"),
        ("IDLE+DRAIN", "CoreSpec differ", "slurm"),
        ("IDLE+DRAIN", "Could not unpack gres data", "slurm"),
        ("IDLE+DRAIN", "Bad core count", "slurm"),
        ("IDLE+DRAIN", "what no Slurm of today says", "slurm"),
        ("IDLE+DRAIN", "Kill task failed", "root"),
        ("IDLE+DRAIN", "Kill task failed (JobId=4 StepId=4.0)", "root"),
        ("IDLE+DRAIN", "switch_g_job_postfini failed", "root"),
        ("DOWN", "", ""),
        ("DOWN*", "Not responding", "slurm"),
    ],
)
def test_drains_by_slurm_are_reported(tmp_path: Path, state: str, reason: str, by: str) -> None:
    node = worker(tmp_path, state, reason, by)
    STEP.apply(node)
    caught = assert_fails(Code.NODE_NOT_READY, STEP.verify, node)
    assert f"reason: {reason or 'none'}" in caught.cause
    assert not [call for call in calls(tmp_path) if "update" in call]


@pytest.mark.parametrize(
    ("reason", "by"),
    [
        ("Action:Replace", "root"),
        ("Action:Reboot : Not responding", "slurm"),  # slurmctld appends to a reason as SlurmUser
        ("maintenance by ada", "root"),
        ("a plugin's text that no list has", "root"),  # assumption: slurm-daemons-reasons-in-roots-name
        ("Low on coolant", "ada"),
        ("SlurmdSpoolDir is full", "ada"),
    ],
)
def test_drains_by_others_are_kept(tmp_path: Path, reason: str, by: str) -> None:
    node = worker(tmp_path, "IDLE+DRAIN", reason, by)
    assert applied(STEP, node) == []
    assert f"reason: {reason}: not changed" in said(node)
    assert not [call for call in calls(tmp_path) if "update" in call]


@pytest.mark.parametrize("reason", ["Not responding", "Node unexpectedly rebooted"])
def test_a_node_that_did_not_respond_is_resumed(tmp_path: Path, reason: str) -> None:
    node = worker(tmp_path, "DOWN", reason, "slurm")
    assert applied(STEP, node) == [f"resumed {OWN}"]
    assert applied(STEP, node) == []


def test_a_node_drained_for_a_full_folder_is_resumed_after_space_is_freed(tmp_path: Path) -> None:
    node = worker(tmp_path, "IDLE+DRAIN", SPOOL)
    assert applied(STEP, node) == [f"resumed {OWN}"]
    assert applied(STEP, node) == []


@pytest.mark.parametrize(("state", "reason"), [("IDLE+DRAIN", SPOOL), ("IDLE", "")])
def test_a_full_folder_fails_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, reason: str) -> None:
    node = worker(tmp_path, state, reason)
    full(monkeypatch, tmp_path / "var/spool/slurmd")
    message = r"LFN46  /var/spool/slurmd has 15 MiB free of 20 MiB; 16 MiB are required"
    with pytest.raises(Failure, match=message):
        STEP.verify(node)
    if reason:
        with pytest.raises(Failure, match=message):
            STEP.apply(node)
    assert not [call for call in calls(tmp_path) if "update" in call]


def test_the_folder_in_slurm_conf_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = worker(tmp_path)
    file(tmp_path, "/run/slurm/conf/slurm.conf", "SlurmUser=slurm\nSlurmdSpoolDir=/scratch/%n\n")
    (tmp_path / "scratch" / OWN).mkdir(parents=True)
    full(monkeypatch, tmp_path / "scratch" / OWN)
    with pytest.raises(Failure, match=rf"LFN46  /scratch/{OWN} has 15 MiB"):
        STEP.verify(node)


def test_a_controller_that_cannot_save_its_state_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = on_ami(tmp_path, "Controller")
    starts(tmp_path, "slurmctld")
    state = tmp_path / "var/spool/slurmctld"
    state.mkdir(parents=True)
    full(monkeypatch, state)
    with pytest.raises(Failure, match=r"LFN46  /var/spool/slurmctld has 15 MiB free of 20 MiB"):
        STEP.verify(node)


def full(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Leave 15 MiB on the file system of `folder` for other users than root, for whom ext4 reserves 5 percent."""
    real = os.statvfs
    almost = SimpleNamespace(f_frsize=4096, f_blocks=5120, f_bfree=5000, f_bavail=3840, f_files=0, f_favail=0)

    def statvfs(path: Path) -> os.statvfs_result | SimpleNamespace:
        return almost if Path(path) == folder else real(path)

    monkeypatch.setattr(os, "statvfs", statvfs)


def test_after_the_ami_nothing_is_resumed(tmp_path: Path) -> None:
    node = replace(worker(tmp_path, "DOWN", "Node unexpectedly rebooted", "slurm"), hook=ON_INIT_COMPLETE)
    STEP.apply(node)
    with pytest.raises(Failure, match=r"LFN73"):
        STEP.verify(node)


def test_drains_by_the_health_check_are_resumed_only_by_it(tmp_path: Path) -> None:
    node = worker(tmp_path, "IDLE+DRAIN", "llm-fleet: /fsx is not mounted")
    with pytest.raises(Failure, match=r"LFN74.*/fsx is not mounted"):
        STEP.verify(node)
    STEP.apply(node)
    assert not [call for call in calls(tmp_path) if "update" in call], "there is no check that could report it"
    check = f"#!/bin/sh\nexec {tmp_path}/opt/slurm/bin/scontrol update nodename={OWN} state=resume $1\n"
    file(tmp_path, "/opt/llm-fleet/slurm/health_check.sh", check.replace(" $1", '; [ "$1" = --resume ]'), 0o755)
    applied(STEP, node)
    assert [call for call in calls(tmp_path) if "update" in call] == [f"scontrol update nodename={OWN} state=resume"]


def test_a_node_unknown_to_the_controller(tmp_path: Path) -> None:
    node = worker(tmp_path)
    (tmp_path / f"fake/node/{OWN}").unlink()
    with pytest.raises(Failure, match=r"LFN72"):
        STEP.verify(node)


def test_the_controller_does_not_wait_for_nodes(tmp_path: Path) -> None:
    node = on_ami(tmp_path, "Controller")
    starts(tmp_path, "slurmctld")
    fails(
        tmp_path, "sbatch", "sbatch: error: Batch job submission failed: Requested node configuration is not available"
    )
    assert applied(STEP, node) == []


def test_a_topology_that_prevents_jobs_is_reported(tmp_path: Path) -> None:
    node = on_ami(tmp_path, "Controller")
    starts(tmp_path, "slurmctld")
    fails(tmp_path, "sbatch", "allocation failure: Requested topology configuration is not available")
    with pytest.raises(Failure, match=r"LFN61"):
        STEP.verify(node)


def test_a_controller_that_does_not_answer(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"LFN66"):
        STEP.verify(on_ami(tmp_path, "Controller"))


def test_parallelcluster_starts_slurmd_later(tmp_path: Path) -> None:
    node = replace(worker(tmp_path), hook=ON_NODE_CONFIGURED)
    assert STEP.skip(node) == "AWS ParallelCluster starts slurmd after this"
    head = replace(on_ami(tmp_path / "head", "Controller"), hook=ON_NODE_CONFIGURED)
    assert STEP.skip(head) is None


def test_parsing_a_line_of_scontrol(tmp_path: Path) -> None:
    seen = parsed(
        "NodeName=a State=IDLE*+DRAIN+DYNAMIC_NORM SlurmdStartTime=2026-11-20T11:00:01 "
        "Reason=llm-fleet: x=1 is not right [root@2026-11-20T11:00:00] Comment=hello"
    )
    assert seen is not None
    assert seen.states == {"IDLE", "DRAIN", "DYNAMIC_NORM"}
    assert (seen.responds, seen.works, seen.reason) == (False, False, "llm-fleet: x=1 is not right")
    extra = parsed(
        "NodeName=a State=IDLE+DRAIN SlurmdStartTime=2026-11-20T11:00:01 "
        "Reason=a [b] c [ada@2026-11-20T11:00:00] Extra=x InstanceId=i-1"
    )
    assert extra is not None
    assert (extra.reason, extra.held_by_others) == ("a [b] c", True)
    assert parsed("slurm_load_node error") is None
