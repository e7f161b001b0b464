"""Nodes in a folder, with Slurm of the HyperPod AMI or of a distribution."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from llm_fleet_node.manifest_parts import Accounting, Group, InstanceType, Mount
from llm_fleet_node.node import Node
from llm_fleet_node.platform_files import Instance
from tests.lifecycle_scripts import step_node
from tests.lifecycle_scripts.programs import PROGRAM
from tests.lifecycle_scripts.step_node import file

PROGRAMS = Path(__file__).with_name("fake_programs.py")
SCRIPTS = Path(__file__).parents[3] / "lifecycle_scripts"
HEAD, HEAD_ADDRESS = "ip-10-1-0-5", "10.1.0.5"
OWN, OWN_ADDRESS = "ip-10-1-0-12", "10.1.0.12"
ETC = "/opt/slurm/etc"
AGENT = f"""\
ClusterName=train
SlurmctldHost={HEAD}({HEAD_ADDRESS})
SlurmctldParameters=enable_configless
SchedulerParameters=permit_job_expansion
TaskPlugin=task/none
StateSaveLocation=/var/spool/slurmctld
NodeName={OWN} CPUs=4 State=UNKNOWN
PartitionName=dev Nodes=ALL Default=YES
include accounting.conf
"""
IDLE = f"NodeName={OWN} CPUTot=4 State=IDLE ThreadsPerCore=1 BootTime=None SlurmdStartTime=2026-11-20T11:00:01"
LOCAL = Accounting("local", None, None, None, None)
FSX = Mount("lustre", "fs.example", "abcd", "/fsx", efa=None, groups=None)
# Files of the test's programs, and files that change at each start.
IGNORED = ("/fake/calls", "/fake/password", *(f"/proc/{pid}/stat" for pid in range(10, 20)))


def on_ami(root: Path, role: str = "Compute", **manifest: Any) -> Node:
    """A node of HyperPod's Slurm AMI with `OnCreate`, after the agent has run."""
    node = _node(root, role, manifest)
    for name in ("scontrol", "sacctmgr", "sbatch", "sinfo"):
        _program(root, f"opt/slurm/bin/{name}")
    for name in ("slurmctld", "slurmd", "slurmdbd"):
        file(root, f"/etc/systemd/system/{name}.service", "[Service]\n")
    _program(root, "opt/slurm/sbin/slurmctld")
    file(root, "/etc/munge/munge.key", "key", 0o600)
    file(root, f"{ETC}/accounting.conf", "")
    if role == "Controller":
        file(root, f"{ETC}/slurm.conf", AGENT)
    return node


def bare(root: Path, role: str = "Compute", **manifest: Any) -> Node:
    """A node without a platform, with a distribution's Slurm."""
    node = _node(root, role, {"mounts": (FSX,), **manifest})
    for name in ("scontrol", "sacctmgr", "sbatch", "sinfo", "slurmctld"):
        _program(root, f"usr/bin/{name}")
    for name in ("slurmctld", "slurmd", "slurmdbd"):
        file(root, f"/usr/lib/systemd/system/{name}.service", "[Service]\n")
    (root / "etc/slurm").mkdir(parents=True)
    (root / "fsx").mkdir()
    return node


def _node(root: Path, role: str, manifest: dict[str, Any]) -> Node:
    (root / "fake").mkdir(parents=True)
    (root / "proc/sys/kernel").mkdir(parents=True)
    (root / "proc/uptime").symlink_to("/proc/uptime")
    file(root, "/proc/sys/kernel/hostname", f"{HEAD if role == 'Controller' else OWN}\n")
    file(root, "/proc/meminfo", "MemTotal:       16000000 kB\n")
    for name in ("systemctl", "munge", "unmunge", "mariadb", "journalctl", "aws"):
        _program(root, f"usr/bin/{name}")
    for name in ("munge", "mariadb"):
        file(root, f"/usr/lib/systemd/system/{name}.service", "[Service]\n")
    (root / "etc/mysql/mariadb.conf.d").mkdir(parents=True)
    node = step_node.make(root, role=role, hook="OnCreate", **manifest)
    address = HEAD_ADDRESS if role == "Controller" else OWN_ADDRESS
    identity = replace(node.identity, addresses=(address,), controllers=(HEAD_ADDRESS,))
    return replace(node, identity=identity, places=replace(node.places, bundle=SCRIPTS))


def _program(root: Path, path: str) -> None:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    # Each finds the node's root from its own path, because some are copied to another root.
    place.write_text(
        f"{PROGRAM}import os, sys\nsys.path.insert(0, {str(PROGRAMS.parent)!r})\n"
        f"os.environ['FAKE_ROOT'] = os.path.realpath(__file__)[: -len({'/' + path!r})]\n"
        f"import {PROGRAMS.stem}\nsys.exit({PROGRAMS.stem}.main())\n"
    )
    place.chmod(0o755)


def with_identity(node: Node, **changed: Any) -> Node:
    """The same node with another identity."""
    return replace(node, identity=replace(node.identity, **changed))


def with_manifest(node: Node, **changed: Any) -> Node:
    """The same node of another fleet."""
    return replace(node, manifest=replace(node.manifest, **changed))


def workers(*layers: tuple[str, ...]) -> tuple[Instance, ...]:
    """Compute instances with these network layers."""
    return tuple(
        Instance("workers", f"w-{number}", f"i-{number}", f"10.1.0.{20 + number}", "ml.trn1.32xlarge", layer)
        for number, layer in enumerate(layers)
    )


def calls(root: Path) -> list[str]:
    """The command lines that were run."""
    path = root / "fake/calls"
    return path.read_text().splitlines() if path.exists() else []


def fails(root: Path, what: str, why: str = "it does") -> None:
    """Let a program or unit fail."""
    file(root, f"/fake/fail/{what}", why)


def says(root: Path, unit: str, words: str) -> None:
    """Set the log of a unit's daemon in its last run."""
    file(root, f"/fake/journal/{unit}", words)


def starts(root: Path, *units: str) -> None:
    """Let units run already."""
    for unit in units:
        file(root, f"/fake/active/{unit}", "")


def runs(root: Path, unit: str) -> bool:
    """Whether the unit runs."""
    return (root / "fake/active" / unit).exists()


def again(root: Path) -> None:
    """Empty the folder."""
    shutil.rmtree(root)


GROUP = Group("workers", "Compute", "OnCreate", "trn1", (InstanceType("ml.trn1.32xlarge", "neuron", 16, 8),))
