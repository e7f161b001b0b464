"""Checks for every step: a second run changes nothing, and the result is the same after a kill at any point."""

from __future__ import annotations

import dataclasses
import os
import shutil
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.host import Host
from llm_fleet_node.node import Node
from llm_fleet_node.step import Step


class KilledError(BaseException):
    """Emulates a kill of the step's process: no cleanup and no handler runs."""


class _KillingChanges(list[str]):
    """Kills immediately after the effect with this number, counted from 0."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def append(self, change: str, /) -> None:
        super().append(change)
        if len(self) > self._number:
            raise KilledError(change)


def assert_fails(
    code: Code, call: Callable[..., object], *given: object, match: str | None = None, **named: object
) -> Failure:
    """Assert that the call fails with this code, and with a text that matches; return the failure."""
    with pytest.raises(Failure, match=match) as failure:
        call(*given, **named)
    assert failure.value.code is code, failure.value
    return failure.value


def applied(step: Step, node: Node) -> list[str]:
    """Apply and verify the step on `node` again, and return what was changed."""
    fresh = again(node)
    step.apply(fresh)
    step.verify(fresh)
    return fresh.host.changes


def again(node: Node, root: Path | None = None) -> Node:
    """The same node for another run, with nothing changed yet, and with its files in `root` if that is given."""
    root = root or node.host.root
    moved = {
        name.name: root / Path(getattr(node.places, name.name)).relative_to(node.host.root)
        for name in dataclasses.fields(node.places)
        if isinstance(getattr(node.places, name.name), Path)
        and Path(getattr(node.places, name.name)).is_relative_to(node.host.root)
    }
    return dataclasses.replace(node, host=Host(root), places=dataclasses.replace(node.places, **moved))


def converges(
    step: Step,
    build: Callable[[Path], Node],
    folder: Path,
    *,
    ignore: Iterable[str] = (),
    is_verified: bool = True,
) -> int:
    """Assert that the step, killed after each of its effects in turn and run again, leaves what one run leaves.

    `build` makes a node in a folder. A second run must change nothing. Returns the number of effects. `ignore`: files
    that the test's programs write. `is_verified`: whether each run is followed by the step's `verify`.
    """
    if not is_verified:
        step = dataclasses.replace(step, verify=_nothing)
    # Always the same path: programs of the test and of steps contain paths of their root.
    root = folder / "node"
    node = build(root)
    effects = applied(step, node)
    assert applied(step, node) == []
    expected = snapshot(root, ignore)
    for number in range(len(effects)):
        shutil.rmtree(root)
        killed = build(root)
        changes = _KillingChanges(number)
        killed.host.changes = changes
        try:
            step.apply(killed)
        except KilledError:
            pass
        else:
            raise AssertionError(f"not killed after effect {number}: {changes}")
        applied(step, killed)
        assert snapshot(root, ignore) == expected, f"killed after {changes[-1]}"
    return len(effects)


def _nothing(node: Node) -> None:
    """Replaces a `verify` that checks a running daemon."""


def snapshot(root: Path, ignore: Iterable[str] = ()) -> dict[str, tuple[int, str]]:
    """Every path below `root` with its mode and content."""
    skipped = {root / path.lstrip("/") for path in ignore}
    found: dict[str, tuple[int, str]] = {}
    for path in sorted(root.rglob("*")):
        if path in skipped or "__pycache__" in path.parts:
            continue
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            content = f"-> {os.readlink(path)}"
        elif stat.S_ISREG(status.st_mode):
            content = path.read_text(encoding="utf-8", errors="replace")
        else:
            content = ""
        found[str(path.relative_to(root))] = (status.st_mode, content)
    return found
