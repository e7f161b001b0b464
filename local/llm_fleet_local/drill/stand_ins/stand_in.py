"""The stand-ins: their list, installation on a node, and recorded calls."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from llm_fleet_local.drill.nodes.node import Node
from llm_fleet_local.drill.platforms.node_files import NodeFile, put
from llm_fleet_local.drill.stand_ins.shared import SHARED

_PROGRAMS = Path(__file__).parent / "programs"
_RECIPE = Path(__file__).parents[1] / "image" / "recipe"
_IN_THE_IMAGE = (_RECIPE / "auto_resume.c", _RECIPE / "set_no_clock.c")
"""Compiled when the image is built: nodes have no compiler."""
_RECORD = "/usr/local/lib/drill/record.sh"
_HEADS = ("path", "plays", "refuses", "cannot")


@dataclass(frozen=True)
class StandIn:
    """One program that emulates another."""

    name: str
    """Name of its file in `programs/`, or the `name` in its header."""
    path: str
    """Its path on nodes."""
    plays: str
    """What it emulates."""
    refuses: str
    """What it rejects, like the real program."""
    cannot: str
    """What it cannot do, so that a drill does not prove it."""
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
    """Return all stand-ins. Raises `ValueError` when a header is incomplete."""
    return (*_programs(), *(_read(file) for file in _IN_THE_IMAGE))


def install(node: Node) -> None:
    """Copy all stand-ins that are not in the image to `node`."""
    record = NodeFile.of(_RECORD, (Path(__file__).parent / "record.sh").read_text(encoding="utf-8"))
    put(node, [record, *(NodeFile.of(one.path, one.text, 0o755) for one in _programs())])


def calls(shared: Path) -> list[Call]:
    """Return the calls on the nodes that have the shared folder `shared`, in order of time."""
    found: list[Call] = []
    for file in sorted((shared / "calls").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            call: dict[str, Any] = json.loads(line)
            # `<host name>.jsonl`, of a user other than root `<host name>.<number>.jsonl`.
            found.append(Call(file.name.partition(".")[0], call["name"], tuple(call["arguments"]), float(call["at"])))
    return sorted(found, key=lambda call: call.at)


@cache
def _programs() -> tuple[StandIn, ...]:
    return tuple(_read(file) for file in sorted(_PROGRAMS.iterdir()) if file.is_file())


def _read(file: Path) -> StandIn:
    text = file.read_text(encoding="utf-8")
    heads = {"name": file.name}
    for line in text.splitlines()[text.startswith("#!") :]:
        comment, _, words = line.partition(" ")
        if comment not in ("#", "//"):
            break
        name, _, value = words.partition(": ")
        heads[name] = value
    missing = [name for name in _HEADS if not heads.get(name)]
    if missing:
        raise ValueError(f"missing in the header of {file}: {', '.join(missing)}")
    return StandIn(text=text, **{name: heads[name] for name in ("name", *_HEADS)})


__all__ = ["SHARED", "Call", "StandIn", "calls", "install", "stand_ins"]
