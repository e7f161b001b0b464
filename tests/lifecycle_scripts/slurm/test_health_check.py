"""The step health_check: programs and expectations are on the node, and slurmd or a timer runs the check."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from llm_fleet_node.failures import Failure
from llm_fleet_node.manifest_parts import Mount, S3Mount, Steps
from llm_fleet_node.node import Node
from llm_fleet_node.step import ON_INIT_COMPLETE, ON_NODE_CONFIGURED
from llm_fleet_node.steps.health_check import STEP
from tests.lifecycle_scripts.convergence import applied, converges
from tests.lifecycle_scripts.slurm.slurm_node import GROUP, IGNORED, on_ami, runs, with_identity, with_manifest
from tests.lifecycle_scripts.step_node import file

CONF = "etc/llm-fleet/health_check.conf"
TIMER = "llm-fleet-health-check.timer"


@pytest.fixture(autouse=True)
def below_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_FLEET_ROOT", str(tmp_path / "node"))


def well(root: Path) -> Node:
    node = on_ami(root)
    file(root, "/proc/self/mounts", "overlay / overlay rw 0 0\n")
    (root / "usr/bin/bash").symlink_to("/bin/bash")  # the check is the real one
    return node


def after_the_ami(root: Path) -> Node:
    return replace(well(root), hook=ON_INIT_COMPLETE)


def test_slurmd_runs_it_if_llm_fleet_writes_slurm_conf(tmp_path: Path) -> None:
    root = tmp_path / "node"
    node = well(root)
    applied(STEP, node)
    for name in ("health_check.sh", "prolog.sh", "epilog.sh"):
        assert (root / "opt/llm-fleet/slurm" / name).stat().st_mode & 0o777 == 0o755
    assert not runs(root, TIMER)
    assert applied(STEP, node) == []


@pytest.mark.parametrize("hook", [ON_INIT_COMPLETE, ON_NODE_CONFIGURED])
def test_a_timer_runs_it_on_other_nodes(tmp_path: Path, hook: str) -> None:
    root = tmp_path / "node"
    node = replace(well(root), hook=hook)
    applied(STEP, node)
    assert runs(root, TIMER)
    assert (root / f"etc/systemd/system/timers.target.wants/{TIMER}").is_symlink()
    assert applied(STEP, node) == []
    (root / "fake/active" / TIMER).unlink()
    with pytest.raises(Failure, match=f"LFN74  {TIMER} does not run"):
        STEP.verify(node)


@pytest.mark.parametrize("build", [well, after_the_ami], ids=["slurmd", "timer"])
def test_it_converges_after_a_kill_at_any_point(tmp_path: Path, build: object) -> None:
    assert converges(STEP, build, tmp_path, ignore=IGNORED) >= 5  # type: ignore[arg-type]


def test_a_timer_with_outdated_files_in_systemd_is_restarted(tmp_path: Path) -> None:
    """As after a kill between writing the files and reloading systemd."""
    root = tmp_path / "node"
    node = after_the_ami(root)
    applied(STEP, node)
    file(root, f"/fake/reload/{TIMER}", "yes")
    assert applied(STEP, node) == [f"started {TIMER}"]
    assert not (root / f"fake/reload/{TIMER}").exists()
    assert applied(STEP, node) == []


def test_the_timer_is_removed_if_slurmd_runs_the_check(tmp_path: Path) -> None:
    root = tmp_path / "node"
    applied(STEP, after_the_ami(root))
    node = replace(after_the_ami_again(root), hook="OnCreate")
    applied(STEP, node)
    assert not runs(root, TIMER)
    assert not (root / f"etc/systemd/system/{TIMER}").exists()
    assert applied(STEP, node) == []


def after_the_ami_again(root: Path) -> Node:
    import shutil

    kept = root.with_name("kept")
    root.rename(kept)
    node = well(root)
    shutil.rmtree(root)
    kept.rename(root)
    return node


def test_expectations_of_a_node(tmp_path: Path) -> None:
    root = tmp_path / "node"
    node = with_manifest(
        with_identity(well(root), group=GROUP, instance_type="ml.trn1.32xlarge"),
        mounts=(
            Mount("lustre", "a", "b", "/fsx", efa=None, groups=None),
            Mount("open_zfs", "a", None, "/elsewhere", efa=None, groups=("others",)),
        ),
        s3_mounts=(S3Mount("bucket", None, "/data", read_only=True, groups=("workers",)),),
    )
    STEP.apply(node)
    assert (root / CONF).read_text().splitlines()[1:] == [
        "disk / 3",
        "room /var/spool/slurmd 16",
        "mount /fsx rw",
        "mount /data ro",
        "devices /dev/neuron[0-9]* 16",
        "devices /sys/class/infiniband/* 8",
    ]
    with pytest.raises(
        Failure, match=r"LFN74  this node is unhealthy: /fsx is not mounted\n/data is not mounted\n0 of 16"
    ):
        STEP.verify(node)


def test_skipped_steps_have_no_expectations(tmp_path: Path) -> None:
    root = tmp_path / "node"
    node = with_manifest(
        with_identity(well(root), group=GROUP, instance_type="ml.trn1.32xlarge"),
        steps=Steps(("neuron_devices", "efa_devices"), ()),
    )
    applied(STEP, node)
    assert (root / CONF).read_text().splitlines()[1:] == ["disk / 3", "room /var/spool/slurmd 16"]


def test_a_controller_is_checked_by_a_timer_that_never_drains(tmp_path: Path) -> None:
    root = tmp_path / "node"
    node = on_ami(root, "Controller")
    conf = root / "opt/slurm/etc/slurm.conf"
    conf.write_text(conf.read_text().replace("/var/spool/slurmctld", "/fsx/state"))
    applied(STEP, node)
    assert runs(root, TIMER)
    assert (root / CONF).read_text().splitlines()[1:] == ["disk / 3", "room /fsx/state 16"]
    service = (root / "etc/systemd/system/llm-fleet-health-check.service").read_text()
    assert "ExecStart=/opt/llm-fleet/slurm/health_check.sh --report\n" in service
    assert [path.name for path in (root / "opt/llm-fleet/slurm").iterdir()] == ["health_check.sh"]
    assert applied(STEP, node) == []


def test_a_non_executable_program_is_detected_and_replaced(tmp_path: Path) -> None:
    root = tmp_path / "node"
    node = well(root)
    applied(STEP, node)
    (root / "opt/llm-fleet/slurm/epilog.sh").chmod(0o644)
    with pytest.raises(Failure, match=r"LFN74  /opt/llm-fleet/slurm/epilog.sh does not match this bundle"):
        STEP.verify(node)
    assert applied(STEP, node) == ["wrote /opt/llm-fleet/slurm/epilog.sh"]


def test_a_changed_program_is_detected_and_replaced(tmp_path: Path) -> None:
    root = tmp_path / "node"
    node = well(root)
    applied(STEP, node)
    (root / "opt/llm-fleet/slurm/prolog.sh").write_text("#!/bin/sh\n")
    with pytest.raises(Failure, match=r"LFN74  /opt/llm-fleet/slurm/prolog.sh does not match this bundle"):
        STEP.verify(node)
    assert applied(STEP, node) == ["wrote /opt/llm-fleet/slurm/prolog.sh"]
    (root / CONF).write_text("disk / 1\n")
    with pytest.raises(Failure, match=r"LFN74  /etc/llm-fleet/health_check.conf does not match"):
        STEP.verify(node)
