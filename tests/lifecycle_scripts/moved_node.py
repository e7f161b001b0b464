"""A node as its steps see it, in a folder: manifest, identity and a moved host with strict programs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from llm_fleet_node.host import Host
from llm_fleet_node.identity import Identity
from llm_fleet_node.manifest import Manifest
from llm_fleet_node.manifest_parts import Download, Downloads, Group, InstanceType, Neuron, Steps
from llm_fleet_node.node import Node
from llm_fleet_node.places import Places
from tests.lifecycle_scripts.programs import PROGRAM

NOTHING = Downloads(source="none", mirror_s3_uri=None, files=())
TRN1 = InstanceType("ml.trn1.32xlarge", "neuron", 16, 8)
TRN2 = InstanceType("ml.trn2.48xlarge", "neuron", 16, 16)
P5 = InstanceType("ml.p5.48xlarge", "gpu", 8, 32)
M5 = InstanceType("ml.m5.xlarge", None, 0, 0)


@dataclass
class Said:
    """What steps wrote to the log."""

    lines: list[str] = field(default_factory=list[str])

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def make(
    root: Path,
    *kinds: InstanceType,
    is_told: bool = True,
    neuron: Neuron | None = None,
    downloads: Downloads = NOTHING,
    said: Said | None = None,
) -> Node:
    """A compute node whose group has instances of `kinds`; `is_told`: the platform says that it is the first."""
    group = Group("workers", "Compute", "OnInitComplete", "dev", kinds or (M5,))
    return Node(
        manifest=Manifest(
            **_rest(Manifest, groups=(group,), neuron=neuron, downloads=downloads, region="us-west-2"),
        ),
        identity=Identity(
            **_rest(Identity, group=group, instance_type=group.instance_types[0].name if is_told else None)
        ),
        places=Places(**_rest(Places, root=root)),
        host=Host(root),
        hook="OnInitComplete",
        say=(said or Said()).lines.append,
    )


def _rest(kind: type[Any], **given: Any) -> dict[str, Any]:
    """All fields of the dataclass `kind`: those given, and nothing for those that no step here looks at."""
    empty: dict[str, Any] = {"steps": Steps((), ())}
    return {name: given.get(name, empty.get(name, ())) for name in kind.__dataclass_fields__}


def program(root: Path, name: str, body: str) -> Path:
    """A program in Python on the node, where it has the standard library alone. Its arguments are in `a`.

    It is started so often that what it imports counts: hardly any needs `pathlib`.
    """
    place = root / "usr/bin" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"{PROGRAM}import os, sys\na = sys.argv[1:]\nroot = {str(root)!r}\n{body}\n")
    place.chmod(0o755)
    return place


def file(root: Path, path: str, text: str) -> None:
    """A file on the node."""
    (root / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
    (root / path.lstrip("/")).write_text(text)


def download(name: str, content: bytes, url: str, **other: Any) -> Download:
    """A pinned file with this content."""
    facts: dict[str, Any] = {"version": "1.0", "kind": "deb", "system": None, "requires": (), "size": len(content)}
    return Download(name=name, url=url, sha256=hashlib.sha256(content).hexdigest(), **{**facts, **other})


def devices(root: Path, numbers: Sequence[int], version: str | None = "2.26.10.0") -> None:
    """Neuron devices, and the driver that runs them."""
    (root / "dev").mkdir(exist_ok=True)
    for number in numbers:
        (root / f"dev/neuron{number}").touch()
    if version:
        file(root, "/sys/module/neuron/version", f"{version}\n")
