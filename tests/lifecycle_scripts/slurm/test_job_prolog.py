"""The step job_prolog, and the nodes with a health check on AWS ParallelCluster."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from llm_fleet_node.failures import Failure
from llm_fleet_node.manifest_parts import Steps
from llm_fleet_node.node import Node
from llm_fleet_node.step import ON_NODE_CONFIGURED
from llm_fleet_node.steps import health_check
from llm_fleet_node.steps.job_prolog import STEP
from tests.lifecycle_scripts.convergence import applied, converges
from tests.lifecycle_scripts.slurm.slurm_node import AGENT, ETC, IGNORED, on_ami, with_manifest
from tests.lifecycle_scripts.step_node import file

PROLOG = "opt/slurm/etc/scripts/prolog.d/80_llm_fleet_health_check"
SETTING = "Prolog=/opt/slurm/etc/scripts/prolog.d/*\n"


def head(root: Path) -> Node:
    """A head node, whose slurm.conf is ParallelCluster's."""
    node = with_manifest(on_ami(root, "Controller"), platform="parallelcluster")
    file(root, f"{ETC}/slurm.conf", AGENT + "include slurm_parallelcluster.conf\n")
    file(root, f"{ETC}/slurm_parallelcluster.conf", SETTING)
    return replace(node, hook=ON_NODE_CONFIGURED)


def test_the_head_node_writes_the_prolog_to_slurmds_folder(tmp_path: Path) -> None:
    root = tmp_path / "node"
    node = head(root)
    applied(STEP, node)
    assert (root / PROLOG).stat().st_mode & 0o777 == 0o755
    assert applied(STEP, node) == []
    (root / PROLOG).chmod(0o644)
    with pytest.raises(Failure, match=r"LFN74 .*80_llm_fleet_health_check does not match this bundle"):
        STEP.verify(node)


def test_it_converges_after_a_kill_at_any_point(tmp_path: Path) -> None:
    assert converges(STEP, head, tmp_path, ignore=IGNORED) >= 2


def test_a_slurm_conf_without_the_folder_is_reported(tmp_path: Path) -> None:
    root = tmp_path / "node"
    node = head(root)
    file(root, f"{ETC}/slurm_parallelcluster.conf", "Prolog=/opt/mine\n")
    STEP.apply(node)
    with pytest.raises(Failure, match=r"LFN74  slurm.conf has Prolog=/opt/mine, not /opt/slurm/etc/scripts"):
        STEP.verify(node)


@pytest.mark.parametrize(("body", "code"), [(None, 0), ("exit 0", 0), ("exit 3", 3)])
def test_a_node_without_a_check_runs_jobs(tmp_path: Path, body: str | None, code: int) -> None:
    root = tmp_path / "node"
    STEP.apply(head(root))
    if body is not None:
        file(root, "/opt/llm-fleet/slurm/prolog.sh", f"#!/bin/bash\n{body}\n", 0o755)
    ended = subprocess.run([root / PROLOG], env={"PATH": "/usr/bin:/bin", "LLM_FLEET_ROOT": str(root)}, check=False)
    assert ended.returncode == code


def test_no_prolog_if_the_check_is_skipped(tmp_path: Path) -> None:
    node = with_manifest(head(tmp_path / "node"), steps=Steps(("health_check",), ()))
    assert STEP.skip(node) == "fleet.json skips health_check"


def test_a_login_node_is_skipped(tmp_path: Path) -> None:
    login = on_ami(tmp_path / "node", "Login")
    assert health_check.STEP.skip(login) is None
    there = with_manifest(login, platform="parallelcluster")
    assert health_check.STEP.skip(there) == "login nodes of AWS ParallelCluster are not nodes in Slurm"
    compute = with_manifest(on_ami(tmp_path / "other"), platform="parallelcluster")
    assert health_check.STEP.skip(compute) is None
