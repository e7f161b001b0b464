"""What is on disk about a running cluster, so that a later drill can clear away one whose drill was killed."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from drill.nodes.control_groups import ControlGroups, remove_empty_top
from drill.nodes.processes import start_time

_RECORD = "cluster.json"


def new_cluster(work: Path) -> tuple[str, Path]:
    """Make a folder for a new cluster, with its record in it from the first moment; return its name and folder."""
    clusters = work / "clusters"
    clusters.mkdir(parents=True, exist_ok=True)
    name = secrets.token_hex(4)
    draft = clusters / f".{name}"
    draft.mkdir()
    owner = os.getpid()
    (draft / _RECORD).write_text(json.dumps({"name": name, "owner": {"pid": owner, "started": start_time(owner)}}))
    os.rename(draft, clusters / name)
    return name, clusters / name


def clear(name: str, folder: Path) -> None:
    """Kill every process of the cluster, and remove its groups, mounts and folder.

    Its processes are those in its control groups, which are named after it and which nothing else is in; its mounts
    are those below its folder. Network namespaces and cables go with them.
    """
    groups = ControlGroups(name)
    groups.kill()
    groups.remove()
    remove_empty_top()
    unmount_below(folder)
    shutil.rmtree(folder)


def sweep(work: Path, say: Callable[[str], None]) -> list[str]:
    """Clear away the clusters below `work` whose drill is no more; return their names. What lives is not touched."""
    swept: list[str] = []
    for record in sorted((work / "clusters").glob(f"*/{_RECORD}")):
        told = json.loads(record.read_text())
        owner = told["owner"]
        if start_time(owner["pid"]) == owner["started"]:
            continue
        say(f"clearing away the cluster {told['name']}: the drill that made it (process {owner['pid']}) is gone")
        clear(told["name"], record.parent)
        swept.append(told["name"])
    return swept


def unmount_below(folder: Path) -> None:
    """Unmount everything that is mounted at or below `folder`, the latest first."""
    places = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for place in reversed(places):
        path = place.encode().decode("unicode_escape")  # blanks are written as \\040
        if Path(path).is_relative_to(folder):
            subprocess.run(["umount", "--lazy", path], check=False)
