"""The stand-ins: their list, installation on a node, and recorded calls."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from local.drill.nodes.node import Node
from local.drill.platforms.node_files import NodeFile, put
from local.drill.stand_ins.shared import SHARED

_PROGRAMS = Path(__file__).parent / "programs"
_RECIPE = Path(__file__).parents[1] / "image" / "recipe"
_IN_THE_IMAGE = (_RECIPE / "auto_resume.c", _RECIPE / "set_no_clock.c")
"""Compiled when the image is built: what it takes for that is not on nodes."""
_RECORD = "/usr/local/lib/drill/record.sh"
_HEADS = ("path", "plays", "refuses", "cannot")


@dataclass(frozen=True)
class StandIn:
    """One program that plays another."""

    name: str
    """Of its file in `programs/`, or what its head says."""
    path: str
    """Its path on nodes."""
    plays: str
    """What it plays."""
    refuses: str
    """What it refuses, as the real one does."""
    cannot: str
    """What a drill with it does not prove."""
    text: str


@dataclass(frozen=True)
class Call:
    """One call of a stand-in."""

    node: str
    """Host name."""
    name: str
    arguments: tuple[str, ...]
    at: float


@cache
def stand_ins() -> tuple[StandIn, ...]:
    """Return all stand-ins. Raises `ValueError` when one does not say what it is."""
    return (*_programs(), *(_read(file) for file in _IN_THE_IMAGE))


def install(node: Node) -> None:
    """Put all stand-ins that are not in its image on `node`."""
    record = NodeFile.of(_RECORD, (Path(__file__).parent / "record.sh").read_text(encoding="utf-8"))
    put(node, [record, *(NodeFile.of(one.path, one.text, 0o755) for one in _programs())])


def calls(shared: Path) -> list[Call]:
    """Return the calls that the nodes with the shared folder `shared` made, in order of time."""
    found: list[Call] = []
    for file in sorted((shared / "calls").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            reported: dict[str, Any] = json.loads(line)
            # `<host name>.jsonl`, of a user other than root `<host name>.<number>.jsonl`.
            found.append(
                Call(file.name.partition(".")[0], reported["name"], tuple(reported["arguments"]), float(reported["at"]))
            )
    return sorted(found, key=lambda call: call.at)


@cache
def _programs() -> tuple[StandIn, ...]:
    return tuple(_read(file) for file in sorted(_PROGRAMS.iterdir()) if file.is_file())


def _read(file: Path) -> StandIn:
    text = file.read_text(encoding="utf-8")
    heads = {"name": file.name}
    for line in text.splitlines()[text.startswith("#!") :]:
        comment, _, reported = line.partition(" ")
        if comment not in ("#", "//"):
            break
        name, _, value = reported.partition(": ")
        heads[name] = value
    missing = [name for name in _HEADS if not heads.get(name)]
    if missing:
        raise ValueError(f"{file} does not say in its head: {', '.join(missing)}")
    return StandIn(text=text, **{name: heads[name] for name in ("name", *_HEADS)})


__all__ = ["SHARED", "Call", "StandIn", "calls", "install", "stand_ins"]
