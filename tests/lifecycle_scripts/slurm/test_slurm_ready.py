"""The step slurm_ready: what counts as ready, what is given back, and what is left to others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.node import Node
from llm_fleet_node.slurm.registration import parsed
from llm_fleet_node.step import ON_INIT_COMPLETE, ON_NODE_CONFIGURED
from llm_fleet_node.steps.slurm_ready import STEP
from tests.lifecycle_scripts.convergence import applied
from tests.lifecycle_scripts.slurm.slurm_node import IDLE, OWN, calls, fails, on_ami, starts
from tests.lifecycle_scripts.step_node_4 import file, said


def worker(root: Path, state: str = "IDLE", reason: str = "") -> Node:
    node = on_ami(root)
    (root / "run/slurm").mkdir(parents=True)
    (root / "run/slurm/conf").symlink_to("/var/spool/slurmd/conf-cache")
    told = f" Reason={reason} [root@2026-11-20T11:00:00]" if reason else ""
    file(root, f"/fake/node/{OWN}", IDLE.replace("IDLE", state) + told)
    return node


@pytest.mark.parametrize("state", ["IDLE", "MIXED", "ALLOCATED", "COMPLETING", "IDLE+PLANNED"])
def test_a_node_that_takes_jobs(tmp_path: Path, state: str) -> None:
    assert applied(STEP, worker(tmp_path, state)) == []


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("IDLE+DRAIN", "Low RealMemory"),
        ("IDLE+DRAIN", "gres/neuron count reported lower than configured (0 < 16)"),
        ("MIXED+DRAIN", "Prolog error"),
        ("DOWN", ""),
        ("DOWN*", "Not responding"),
    ],
)
def test_what_slurm_holds_back_is_told(tmp_path: Path, state: str, reason: str) -> None:
    node = worker(tmp_path, state, reason)
    STEP.apply(node)
    with pytest.raises(Failure) as caught:
        STEP.verify(node)
    assert caught.value.code is Code.NODE_NOT_READY
    assert f"reason: {reason or 'none'}" in caught.value.cause
    assert not [call for call in calls(tmp_path) if "update" in call]


@pytest.mark.parametrize("reason", ["Action:Replace", "maintenance by ada", "Action:Reboot"])
def test_what_others_hold_back_stays_so(tmp_path: Path, reason: str) -> None:
    node = worker(tmp_path, "IDLE+DRAIN", reason)
    assert applied(STEP, node) == []
    assert f"reason: {reason}: left as it is" in said(node)
    assert not [call for call in calls(tmp_path) if "update" in call]


@pytest.mark.parametrize("reason", ["Not responding", "Node unexpectedly rebooted"])
def test_a_node_that_was_only_away_is_given_back(tmp_path: Path, reason: str) -> None:
    node = worker(tmp_path, "DOWN", reason)
    assert applied(STEP, node) == [f"resumed {OWN}"]
    assert applied(STEP, node) == []


def test_after_the_ami_nothing_is_given_back(tmp_path: Path) -> None:
    node = replace(worker(tmp_path, "DOWN", "Node unexpectedly rebooted"), hook=ON_INIT_COMPLETE)
    STEP.apply(node)
    with pytest.raises(Failure, match=r"LFN73"):
        STEP.verify(node)


def test_what_our_check_drained_it_alone_gives_back(tmp_path: Path) -> None:
    node = worker(tmp_path, "IDLE+DRAIN", "llm-fleet: /fsx is not mounted")
    with pytest.raises(Failure, match=r"LFN74.*/fsx is not mounted"):
        STEP.verify(node)
    STEP.apply(node)
    assert not [call for call in calls(tmp_path) if "update" in call], "there is no check that could say so"
    check = f"#!/bin/sh\nexec {tmp_path}/opt/slurm/bin/scontrol update nodename={OWN} state=resume $1\n"
    file(tmp_path, "/opt/llm-fleet/slurm/health_check.sh", check.replace(" $1", '; [ "$1" = --resume ]'), 0o755)
    applied(STEP, node)
    assert [call for call in calls(tmp_path) if "update" in call] == [f"scontrol update nodename={OWN} state=resume"]


def test_a_node_that_nobody_knows(tmp_path: Path) -> None:
    node = worker(tmp_path)
    (tmp_path / f"fake/node/{OWN}").unlink()
    with pytest.raises(Failure, match=r"LFN72"):
        STEP.verify(node)


def test_the_controller_waits_for_nobody(tmp_path: Path) -> None:
    node = on_ami(tmp_path, "Controller")
    starts(tmp_path, "slurmctld")
    fails(
        tmp_path, "sbatch", "sbatch: error: Batch job submission failed: Requested node configuration is not available"
    )
    assert applied(STEP, node) == []


def test_a_topology_that_keeps_every_job_from_starting(tmp_path: Path) -> None:
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


def test_a_line_of_slurms(tmp_path: Path) -> None:
    seen = parsed(
        "NodeName=a State=IDLE*+DRAIN+DYNAMIC_NORM SlurmdStartTime=2026-11-20T11:00:01 "
        "Reason=llm-fleet: x=1 is not right [root@2026-11-20T11:00:00] Comment=hello"
    )
    assert seen is not None
    assert seen.states == {"IDLE", "DRAIN", "DYNAMIC_NORM"}
    assert (seen.responds, seen.works, seen.reason) == (False, False, "llm-fleet: x=1 is not right")
    assert parsed("slurm_load_node error") is None
