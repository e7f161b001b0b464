"""The record of a running cluster on disk, with which a later drill can remove the cluster of a killed drill."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from llm_fleet_local.drill.nodes.control_groups import ControlGroups, remove_empty_top
from llm_fleet_local.drill.nodes.processes import start_time
from llm_fleet_local.drill.work_folder import make_folder

_ESCAPED = re.compile(rb"\\([0-7]{3})")
"""How the kernel writes spaces, tabs, newlines and backslashes in paths of mounts."""
_RECORD = "cluster.json"


@dataclass(frozen=True)
class ClusterRecord:
    """The record of a cluster."""

    name: str
    engine: str
    """`docker` or `podman`; empty when its nodes are on plain Linux."""
    owner: int
    """Id of the process that created it."""
    started: int | None
    """Start time of that process: process ids are reused."""

    def is_owned(self) -> bool:
        """Return whether the process that created the cluster is running."""
        return self.started is not None and start_time(self.owner) == self.started


def new_cluster(work: Path, engine: str = "") -> tuple[str, Path]:
    """Create a folder for a new cluster, which has its record from the beginning; return its name and folder."""
    clusters = work / "clusters"
    make_folder(clusters)
    name = secrets.token_hex(4)
    draft = clusters / f".{name}"
    draft.mkdir()
    record = ClusterRecord(name, engine, os.getpid(), start_time(os.getpid()))
    (draft / _RECORD).write_text(json.dumps(asdict(record)))
    os.rename(draft, clusters / name)
    return name, clusters / name


def clear(name: str, folder: Path) -> None:
    """Kill all processes of the cluster, and remove its control groups, mounts and folder.

    Its processes are those in its control groups, which have its name and contain no other processes; its mounts are
    those below its folder. Network namespaces and veth interfaces are removed with them.
    """
    groups = ControlGroups(name)
    groups.kill()
    groups.remove()
    remove_empty_top()
    unmount_below(folder)
    shutil.rmtree(folder)


def records(work: Path) -> list[tuple[ClusterRecord, Path]]:
    """Return the records of clusters in `work`, each with its folder."""
    found = sorted((work / "clusters").glob(f"*/{_RECORD}"))
    return [(ClusterRecord(**json.loads(place.read_text())), place.parent) for place in found]


def unmount_below(folder: Path) -> None:
    """Unmount everything at and below `folder`, the newest mount first."""
    places = [line.split()[4] for line in Path("/proc/self/mountinfo").read_bytes().splitlines()]
    for place in reversed(places):
        path = os.fsdecode(_ESCAPED.sub(lambda code: bytes([int(code[1], 8)]), place))
        if Path(path).is_relative_to(folder.resolve()):
            subprocess.run(["umount", "--lazy", path], check=False)
