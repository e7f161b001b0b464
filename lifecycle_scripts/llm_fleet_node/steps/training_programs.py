"""Batch files and the training program are on shared storage, the same for users and nodes."""

from __future__ import annotations

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.node import Node
from llm_fleet_node.step import EVERY_ROLE, Step
from llm_fleet_node.training import programs, storage
from llm_fleet_node.training.build_once import build_once
from llm_fleet_node.training.layout import Layout
from llm_fleet_node.training.of_group import training_of, why_no_training
from llm_fleet_node.training.shared_lock import SharedLock

_SECONDS = 200.0
"""Timeout for the copying node: a few dozen small files, and the lock timeout of a dead node."""
_STICKY = 0o1777
"""As /tmp: all users can write, and remove only their own files."""


def _apply(node: Node) -> None:
    """Make the folders, and copy this bundle's version if it is missing."""
    storage.check_shared(node)
    folder = training_of(node).folder
    with storage.reported(folder), storage.readable_by_all():
        _make_folders(node, Layout(folder))
        _copy(node, Layout(folder))
        programs.put_current(node)


def _make_folders(node: Node, layout: Layout) -> None:
    for folder in (layout.folder, layout.programs, layout.locks, layout.environments):
        node.host.folder(folder)
    if _is_next_to(node, layout) and not node.host.path(layout.runs).exists():
        # The owner can change its mode later.
        node.host.folder(layout.runs, mode=_STICKY)


def _copy(node: Node, layout: Layout) -> None:
    files = programs.read(node.places.bundle)
    name = programs.fingerprint(files)
    version = node.host.path(layout.program(name))
    build_once(
        SharedLock(node.host.path(layout.locks), f"programs-{name}"),
        is_done=lambda: programs.problem(version, files) is None,
        build=lambda held: programs.put(node, held, files),
        say=node.say,
        seconds=_SECONDS,
    )


def _verify(node: Node) -> None:
    """Verify this bundle's version, and that `current` is a link to a complete one."""
    storage.check_shared(node)
    layout = Layout(training_of(node).folder)
    files = programs.read(node.places.bundle)
    wrong = programs.problem(node.host.path(layout.program(programs.fingerprint(files))), files)
    if wrong:
        fail(Code.TRAINING_PROGRAMS, wrong)
    current = node.host.path(f"{layout.programs}/{programs.CURRENT}")
    if not (current / programs.MARKER).is_file():
        fail(Code.TRAINING_PROGRAMS, f"{current} does not link to the programs")
    if _is_next_to(node, layout) and not node.host.path(layout.runs).is_dir():
        fail(Code.TRAINING_PROGRAMS, f"the folder {layout.runs} for users' runs does not exist")


def _is_next_to(node: Node, layout: Layout) -> bool:
    """Return whether the folder of runs would be on the same file system, and not on the node's own disk."""
    folder = node.host.path(layout.folder)
    return folder.is_dir() and folder.stat().st_dev == folder.parent.stat().st_dev


STEP = Step(
    name="training_programs",
    summary="batch files and the training program are on shared storage",
    roles=EVERY_ROLE,
    apply=_apply,
    verify=_verify,
    needs=("mount_lustre", "mount_open_zfs"),
    skip=why_no_training,
    timeout=240,
    retries=1,
)
