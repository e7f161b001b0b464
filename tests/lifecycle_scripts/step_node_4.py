"""A node as its steps see it, in a folder, with programs that are strict about what they are asked."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from llm_fleet_node.host import Host
from llm_fleet_node.identity import Identity
from llm_fleet_node.manifest import Manifest
from llm_fleet_node.manifest_parts import Downloads, Group, InstanceType, Mount, Steps, User
from llm_fleet_node.node import Node
from llm_fleet_node.places import Places
from tests.lifecycle_scripts.programs import PROGRAM

ALICE = User("alice", 2001, 2001, sudo=True, ssh_public_keys=("ssh-ed25519 AAAAalice a@b",), slurm_account="research")
BOB = User("bob", 2002, 2002, sudo=False, ssh_public_keys=(), slurm_account=None)


def make(root: Path, *, users: Iterable[User] = (), role: str = "Compute", **manifest: Any) -> Node:
    """A node of `role`; `manifest` overrides what its fleet has, which is nothing."""
    groups = tuple(Group(name, name, "OnCreate", None, (_M5,)) for name in ("Controller", "Login", "Compute"))
    facts: dict[str, Any] = {
        **_but(Manifest),
        "fleet": "demo",
        "cluster": "train",
        "platform": "hyperpod",
        "groups": groups,
        "users": tuple(users),
        "accounting": None,
        "metrics": None,
        "downloads": Downloads("none", None, ()),
        "steps": Steps((), ()),
    }
    own = next(group for group in groups if group.name == role)
    return Node(
        manifest=Manifest(**facts | manifest),
        identity=Identity(**_but(Identity, group=own, addresses=("10.1.0.12",))),
        places=Places(**_but(Places, root=root)),
        host=Host(root),
        hook="OnCreate",
        say=list[str]().append,
    )


def said(node: Node) -> str:
    """What steps wrote to the log."""
    return "\n".join(cast("Any", node.say).__self__)


def file(root: Path, path: str, text: str, mode: int = 0o644) -> None:
    """A file on the node."""
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)  # What is there may be read-only, which stops everyone but root.
    place.write_text(text)
    place.chmod(mode)


def program(root: Path, name: str, body: str) -> None:
    """A program in Python on the node. `a`: its arguments, `root`: the node's root, `bad()`: ends it as misused."""
    imports = "os, sys, signal" if "signal." in body else "os, sys"  # hundreds are started: each import counts
    head = (
        f"{PROGRAM}import {imports}\na = sys.argv[1:]\nroot = {str(root)!r}\n"
        "def bad():\n    sys.exit(f'{sys.argv[0]}: not understood: {a}')\n"
        "def read(p):\n    return open(root + p).read() if os.path.exists(root + p) else ''\n"
        "def write(p, t):\n    open(root + p, 'w').write(t)\n"
    )
    file(root, f"/usr/bin/{name}", f"{head}{body}\n", 0o755)


def mount(kind: str, path: str, groups: tuple[str, ...] | None = None) -> Mount:
    """A file system of the fleet."""
    return Mount(kind, "fs.example", "abc", path, efa=None, groups=groups)


def again(node: Node, root: Path | None = None) -> Node:
    """The same node, with nothing changed yet."""
    return replace(node, host=Host(root or node.host.root))


def tree(root: Path, *but: str) -> dict[str, tuple[str, int, str]]:
    """What is below `root`: kind, mode and content by path; without `proc`, locks, and paths that hold one of `but`."""
    found: dict[str, tuple[str, int, str]] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if name.startswith(("proc", "usr/bin", "run/lock", "calls")) or ".lock" in name or any(b in name for b in but):
            continue
        mode = stat.S_IMODE(path.lstat().st_mode)
        content = str(path.readlink()) if path.is_symlink() else path.read_text() if path.is_file() else ""
        kind = "link" if path.is_symlink() else "file" if path.is_file() else "folder"
        found[name] = (kind, mode, content)
    return found


class Killed(BaseException):
    """The process was killed."""


class _Fuse(list[str]):
    """A host's changes, which kill the process at one of them."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self._left = left

    def append(self, item: str) -> None:
        super().append(item)
        self._left -= 1
        if self._left == 0:
            raise Killed


def kill_at_every_effect(fresh: Callable[[int], Node], apply: Callable[[Node], None], *but: str) -> int:
    """Kill `apply` after each thing it changes, run it again, and compare with a node where it was not killed.

    `fresh` makes equal nodes in folders by number. Returns how many effects there were.
    """
    whole = fresh(0)
    apply(whole)
    assert whole.host.changes
    wanted = tree(whole.host.root, *but)
    for number in range(1, len(whole.host.changes) + 1):
        node = fresh(number)
        node.host.changes = _Fuse(number)
        try:
            apply(node)
        except Killed:
            pass
        else:
            raise AssertionError(f"there were no {number} effects")
        apply(again(node))
        here = {
            path: _moved(entry, node.host.root, whole.host.root) for path, entry in tree(node.host.root, *but).items()
        }
        assert here == wanted, f"killed after {node.host.changes[-1]!r}"
        twice = again(node)
        apply(twice)
        assert twice.host.changes == []
    return len(whole.host.changes)


def _moved(entry: tuple[str, int, str], root: Path, to: Path) -> tuple[str, int, str]:
    kind, mode, content = entry
    return kind, mode, content.replace(str(root), str(to))


def _but(kind: type[Any], **given: Any) -> dict[str, Any]:
    """All fields of the dataclass `kind`: those given, and nothing for those that no step here looks at."""
    return {**dict.fromkeys(kind.__dataclass_fields__, ()), **given}


_M5 = InstanceType("ml.m5.xlarge", None, 0, 0)
