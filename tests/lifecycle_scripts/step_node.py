"""A node in a folder for its steps: manifest, identity, and a host with strict stand-ins of programs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from llm_fleet_node.host import Host
from llm_fleet_node.identity import Identity
from llm_fleet_node.manifest import Manifest
from llm_fleet_node.manifest_parts import Download, Downloads, Group, InstanceType, Mount, Steps, User
from llm_fleet_node.node import Node
from llm_fleet_node.places import Places
from tests.lifecycle_scripts.programs import PROGRAM

TRN1 = InstanceType("ml.trn1.32xlarge", "neuron", 16, 8)
TRN2 = InstanceType("ml.trn2.48xlarge", "neuron", 16, 16)
P5 = InstanceType("ml.p5.48xlarge", "gpu", 8, 32)
M5 = InstanceType("ml.m5.xlarge", None, 0, 0)
ALICE = User("alice", 2001, 2001, sudo=True, ssh_public_keys=("ssh-ed25519 AAAAalice a@b",), slurm_account="research")
BOB = User("bob", 2002, 2002, sudo=False, ssh_public_keys=(), slurm_account=None)


def make(
    root: Path,
    *kinds: InstanceType,
    role: str = "Compute",
    hook: str = "OnInitComplete",
    users: Iterable[User] = (),
    is_reported: bool = True,
    **manifest: Any,
) -> Node:
    """A node of `role`; `manifest` sets parts of its fleet, which is empty by default.

    Its group has instances of `kinds`; `is_reported`: the platform says that the node is of the first.
    """
    groups = {of: Group(name, of, hook, partition, (M5,)) for name, of, partition in _GROUPS}
    own = groups[role] = replace(groups[role], instance_types=kinds or (M5,))
    facts: dict[str, Any] = {
        "fleet": "demo",
        "cluster": "train",
        "platform": "hyperpod",
        "region": "us-west-2",
        "groups": tuple(groups.values()),
        "users": tuple(users),
        "accounting": None,
        "metrics": None,
        "neuron": None,
        "downloads": Downloads("none", None, ()),
        "steps": Steps((), ()),
    }
    kind = own.instance_types[0].name if is_reported else None
    return Node(
        manifest=Manifest(**_but(Manifest, **facts | manifest)),
        identity=Identity(**_but(Identity, group=own, addresses=("10.1.0.12",), instance_type=kind)),
        places=Places(**_but(Places, root=root)),
        host=Host(root),
        hook=hook,
        say=list[str]().append,
    )


_GROUPS = (("controller", "Controller", None), ("login", "Login", None), ("workers", "Compute", "dev"))


def _but(kind: type[Any], **given: Any) -> dict[str, Any]:
    """All fields of the dataclass `kind`: those given, and `None` for fields that no step here uses."""
    return {**dict.fromkeys(kind.__dataclass_fields__, ()), **given}


def said(node: Node) -> str:
    """The lines that steps wrote to the log."""
    return "\n".join(cast("Any", node.say).__self__)


def file(root: Path, path: str, text: str, mode: int = 0o644) -> None:
    """A file on the node."""
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)  # An existing file can be read-only, which only root can overwrite.
    place.write_text(text)
    place.chmod(mode)


def program(root: Path, name: str, body: str) -> Path:
    """A program in Python on the node. `a`: its arguments, `root`: the node's root, `bad()`: ends it as misused.

    It has the standard library alone, and is started so often that what it imports counts: hardly any needs `pathlib`.
    """
    imports = "os, sys, signal" if "signal." in body else "os, sys"
    head = (
        f"{PROGRAM}import {imports}\na = sys.argv[1:]\nroot = {str(root)!r}\n"
        "def bad():\n    sys.exit(f'{sys.argv[0]}: not understood: {a}')\n"
        "def read(p):\n    return open(root + p).read() if os.path.exists(root + p) else ''\n"
        "def write(p, t):\n    open(root + p, 'w').write(t)\n"
    )
    file(root, f"/usr/bin/{name}", f"{head}{body}\n", 0o755)
    return root / "usr/bin" / name


def mount(kind: str, path: str, groups: tuple[str, ...] | None = None) -> Mount:
    """A file system of the fleet."""
    return Mount(kind, "fs.example", "abc", path, efa=None, groups=groups)


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
