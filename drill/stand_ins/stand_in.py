"""The stand-ins: what there is, how it gets on a node, and what it was asked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from drill.nodes.node import Node
from drill.platforms.node_files import NodeFile, put
from drill.stand_ins.shared import SHARED

_PROGRAMS = Path(__file__).parent / "programs"
_RECORD = "/usr/local/lib/drill/record.sh"
_HEADS = ("path", "plays", "refuses", "cannot")


@dataclass(frozen=True)
class StandIn:
    """One program that plays another."""

    name: str
    """Of its file in `programs/`."""
    path: str
    """Where it lies on nodes."""
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
    return tuple(_read(file) for file in sorted(_PROGRAMS.iterdir()) if file.is_file())


def install(node: Node) -> None:
    """Put all stand-ins on `node`."""
    record = NodeFile.of(_RECORD, (Path(__file__).parent / "record.sh").read_text(encoding="utf-8"))
    put(node, [record, *(NodeFile.of(one.path, one.text, 0o755) for one in stand_ins())])


def calls(shared: Path) -> list[Call]:
    """Return the calls that the nodes with the shared folder `shared` made, in order of time."""
    found: list[Call] = []
    for file in sorted((shared / "calls").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            told: dict[str, Any] = json.loads(line)
            found.append(Call(file.stem, told["name"], tuple(told["arguments"]), float(told["at"])))
    return sorted(found, key=lambda call: call.at)


def _read(file: Path) -> StandIn:
    text = file.read_text(encoding="utf-8")
    heads = dict[str, str]()
    for line in text.splitlines()[1:]:
        if not line.startswith("# "):
            break
        name, _, value = line[2:].partition(": ")
        heads[name] = value
    missing = [name for name in _HEADS if not heads.get(name)]
    if missing:
        raise ValueError(f"{file} does not say in its head: {', '.join(missing)}")
    return StandIn(name=file.name, text=text, **{name: heads[name] for name in _HEADS})


__all__ = ["SHARED", "Call", "StandIn", "calls", "install", "stand_ins"]
