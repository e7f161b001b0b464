"""The programs that slurmd runs: health check, prolog and epilog, as they are in the bundle, on nodes in folders."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lifecycle_scripts.slurm.slurm_node import IDLE, OWN, SCRIPTS, calls, on_ami
from tests.lifecycle_scripts.step_node import file

SOURCE = SCRIPTS / "node_files/slurm"
EXPECTED = "mount /fsx rw\ndisk / 0\ndevices /dev/neuron[0-9]* 2\n"


@dataclass
class Ended:
    code: int
    out: str


class Machine:
    """A healthy node."""

    def __init__(self, root: Path) -> None:
        self.root = root
        on_ami(root)
        shutil.copytree(SOURCE, root / "opt/llm-fleet/slurm")
        file(root, "/etc/llm-fleet/health_check.conf", f"# by llm-fleet\n{EXPECTED}")
        self.mounts("rw,noatime")
        (root / "fsx").mkdir()
        (root / "dev").mkdir()
        for name in ("neuron0", "neuron1"):
            (root / "dev" / name).touch()
        self.is_in("IDLE")

    def mounts(self, options: str) -> None:
        text = f"overlay / overlay rw 0 0\nfs@tcp:/x /fsx lustre {options} 0 0\n"
        file(self.root, "/proc/self/mounts", text)

    def is_in(self, state: str, reason: str = "") -> None:
        reported = f" Reason={reason} [root@2026-11-20T11:00:00]" if reason else ""
        file(self.root, f"/fake/node/{OWN}", IDLE.replace("IDLE", state) + reported + "\n")

    @property
    def slurm(self) -> str:
        return (self.root / f"fake/node/{OWN}").read_text()

    @property
    def requested(self) -> list[str]:
        return [call for call in calls(self.root) if call.startswith("scontrol")]

    def run(self, name: str = "health_check", *arguments: str, **environment: str) -> Ended:
        program = self.root / f"opt/llm-fleet/slurm/{name}.sh"
        path = f"{self.root}/opt/slurm/bin:{os.environ['PATH']}"
        reported = {"LLM_FLEET_ROOT": str(self.root), "LLM_FLEET_NODE_NAME": OWN, "PATH": path}
        done = subprocess.run(
            ["bash", program, *arguments], env=reported | environment, capture_output=True, text=True, timeout=60
        )
        return Ended(done.returncode, done.stdout + done.stderr)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_healthy_node_needs_no_query_of_slurm(machine: Machine) -> None:
    for mode in ((), ("--report",), ("--quick",)):
        assert machine.run("health_check", *mode) == Ended(0, "")
    assert machine.requested == []


@pytest.mark.parametrize(
    ("conf", "reported"),
    [
        ("mount /scratch rw", "/scratch is not mounted"),
        ("disk / 101", "% left, less than 101 %"),
        ("devices /dev/neuron[0-9]* 16", "2 of 16 devices /dev/neuron[0-9]*"),
        ("devices /dev/none* 1", "0 of 1 devices /dev/none*"),
        ("disk /gone 1", "/gone does not answer"),
        ("room /fsx 99999999999", " MiB left, less than 99999999999 MiB"),
        ("room /fsx/not/yet 99999999999", "/fsx/not/yet has "),
        ("color blue", "health_check.conf has the unknown check color"),
    ],
)
def test_problems_that_make_a_node_unhealthy(machine: Machine, conf: str, reported: str) -> None:
    file(machine.root, "/etc/llm-fleet/health_check.conf", f"{conf}\n")
    ended = machine.run("health_check", "--report")
    assert ended.code == 1
    assert reported in ended.out
    assert machine.requested == []
    assert machine.run().code == 0
    assert "State=IDLE+DRAIN" in machine.slurm
    assert f"Reason=llm-fleet: {reported}" in machine.slurm or reported in machine.slurm


def test_a_read_only_file_system_is_reported(machine: Machine) -> None:
    machine.mounts("ro,noatime")
    assert machine.run("health_check", "--quick") == Ended(1, "/fsx is read-only\n")
    file(machine.root, "/etc/llm-fleet/health_check.conf", "mount /fsx ro\n")
    assert machine.run("health_check", "--quick") == Ended(0, "")


def test_an_unhealthy_node_is_drained_once_and_resumed(machine: Machine) -> None:
    (machine.root / "dev/neuron1").unlink()
    machine.mounts("ro")
    assert machine.run().code == 0
    assert "Reason=llm-fleet: /fsx is read-only and 1 more [" in machine.slurm
    updates = [call for call in machine.requested if "update" in call]
    assert machine.run().code == 0
    assert [call for call in machine.requested if "update" in call] == updates, "it is drained already"
    (machine.root / "dev/neuron1").touch()
    machine.mounts("rw")
    assert machine.run() == Ended(0, "")
    assert "State=IDLE " in machine.slurm
    before = machine.requested
    assert machine.run() == Ended(0, "")
    assert machine.requested == before, "nothing is left to do"


@pytest.mark.parametrize("state", ["IDLE+DRAIN", "DOWN", "FAIL"])
def test_drains_by_others_are_not_changed(machine: Machine, state: str) -> None:
    machine.is_in(state, "Action:Replace")
    before = machine.slurm
    machine.mounts("ro")
    assert machine.run().code == 0
    machine.mounts("rw")
    assert machine.run("health_check", "--resume").code == 0
    assert machine.slurm == before


def test_a_drain_by_slurmd_for_a_full_folder_is_taken_over_and_resumed(machine: Machine) -> None:
    file(machine.root, "/etc/llm-fleet/health_check.conf", "room /fsx 99999999999\n")
    machine.is_in("IDLE+DRAIN", "SlurmdSpoolDir is full")
    assert machine.run().code == 0
    assert "Reason=llm-fleet: /fsx has " in machine.slurm
    file(machine.root, "/etc/llm-fleet/health_check.conf", "room /fsx 0\n")
    assert machine.run() == Ended(0, "")
    assert "State=IDLE " in machine.slurm
    assert [path.name for path in (machine.root / "fsx").iterdir()] == []


def test_a_folder_that_cannot_be_written(machine: Machine) -> None:
    (machine.root / "fsx/.llm-fleet-health-check").mkdir()
    file(machine.root, "/etc/llm-fleet/health_check.conf", "room /fsx 0\n")
    assert machine.run("health_check", "--report") == Ended(1, "/fsx is not writable\n")


def test_a_later_drain_by_others_is_kept(machine: Machine) -> None:
    machine.mounts("ro")
    machine.run()
    machine.is_in("IDLE+DRAIN", "ada looks into it")
    machine.mounts("rw")
    assert machine.run().code == 0
    assert "ada looks into it" in machine.slurm
    assert not (machine.root / "var/lib/llm-fleet/drained").exists()


def test_a_replaced_node_is_resumed_with_the_option(machine: Machine) -> None:
    machine.is_in("IDLE+DRAIN", "llm-fleet: /fsx is not mounted")
    assert machine.run().code == 0
    assert "DRAIN" in machine.slurm, "the record of the drain was lost with its disk"
    assert machine.run("health_check", "--resume").code == 0
    assert "State=IDLE " in machine.slurm


def test_without_the_controller_the_record_of_the_drain_is_kept(machine: Machine) -> None:
    machine.mounts("ro")
    machine.run()
    node = machine.root / f"fake/node/{OWN}"
    kept = node.read_text()
    node.unlink()
    machine.mounts("rw")
    assert machine.run().code == 1
    node.write_text(kept)
    assert machine.run().code == 0
    assert "State=IDLE " in machine.slurm


def test_an_unhealthy_login_node_missing_in_slurm_is_only_reported(machine: Machine) -> None:
    """It cannot be drained. Source: assumption hyperpod-login-nodes-in-slurm."""
    (machine.root / f"fake/node/{OWN}").unlink()
    (machine.root / "dev/neuron1").unlink()
    ended = machine.run()
    assert (ended.code, ended.out) == (1, "1 of 2 devices /dev/neuron[0-9]*\n")
    assert not (machine.root / "var/lib/llm-fleet/drained").exists()
    (machine.root / "dev/neuron1").touch()
    assert machine.run() == Ended(0, "")


def test_an_unknown_mode(machine: Machine) -> None:
    assert machine.run("health_check", "--fix").code == 2


def test_the_prolog_allows_jobs(machine: Machine) -> None:
    assert machine.run("prolog", SLURM_JOB_UID="2001") == Ended(0, "")
    assert machine.requested == []


def test_the_prolog_prevents_jobs_on_an_unhealthy_node(machine: Machine) -> None:
    machine.mounts("ro")
    ended = machine.run("prolog", SLURM_JOB_UID="2001")
    assert ended.code == 1
    assert "Reason=llm-fleet: /fsx is read-only [" in machine.slurm


@pytest.mark.parametrize("uid", ["0", "999", "", "2001 -o -true"])
def test_the_epilog_keeps_shared_memory_of_the_system(machine: Machine, uid: str) -> None:
    file(machine.root, "/dev/shm/left", "")
    assert machine.run("epilog", SLURM_JOB_UID=uid) == Ended(0, "")
    assert (machine.root / "dev/shm/left").exists()


@pytest.mark.root
def test_the_epilog_removes_shared_memory_of_the_user(machine: Machine) -> None:
    for name, uid in (("nccl-1", 2001), ("folder", 2001), ("other", 2002)):
        file(machine.root, f"/dev/shm/{name}", "")
        os.chown(machine.root / "dev/shm" / name, uid, uid)
    process = machine.root / "proc/4242"
    process.mkdir()
    os.chown(process, 2001, 2001)
    assert machine.run("epilog", SLURM_JOB_UID="2001") == Ended(0, "")
    assert len(list((machine.root / "dev/shm").iterdir())) == 3, "the user still has a process here"
    process.rmdir()
    assert machine.run("epilog", SLURM_JOB_UID="2001") == Ended(0, "")
    assert [path.name for path in (machine.root / "dev/shm").iterdir()] == ["other"]


@pytest.mark.parametrize("tool", [["shellcheck"], ["shfmt", "-d", "-i", "2", "-ci"]], ids=["shellcheck", "shfmt"])
def test_shellcheck_reports_nothing(tool: list[str]) -> None:
    import sys

    program = Path(sys.executable).parent / tool[0]
    ended = subprocess.run([program, *tool[1:], *sorted(SOURCE.glob("*.sh"))], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "")
