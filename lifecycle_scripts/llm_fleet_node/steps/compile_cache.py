"""Compiled graphs are kept on shared storage for all jobs, and one node removes unused graphs."""

from __future__ import annotations

import stat
from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.manifest_parts import CompileCache
from llm_fleet_node.node import Node
from llm_fleet_node.step import CONTROLLER, EVERY_ROLE, Step
from llm_fleet_node.training import janitor, storage
from llm_fleet_node.training.of_group import training_of, why_no_training, why_not_mounted

_STICKY = 0o1777
"""As /tmp: jobs of all users compile into it, and remove only their own files."""


def _apply(node: Node) -> None:
    """Make the folder; on the controller, enable the daily clean-up."""
    cache = _cache(node)
    with storage.reported(cache.folder):
        node.host.folder(cache.folder, mode=_STICKY)
    if node.role == CONTROLLER:
        janitor.put(node, cache)


def _verify(node: Node) -> None:
    """Verify that all users can write to it, and that the timer runs on the controller."""
    cache = _cache(node)
    place = node.host.path(cache.folder)
    if not place.is_dir() or stat.S_IMODE(place.stat().st_mode) != _STICKY:
        fail(Code.COMPILE_CACHE, f"{cache.folder} is not a folder with mode 1777")
    if node.role == CONTROLLER:
        janitor.check(node, cache)


def _cache(node: Node) -> CompileCache:
    cache = training_of(node).compile_cache
    if cache is None:  # Not reached, because of `skip`.
        fail(Code.UNEXPECTED_ERROR, "the manifest has no compile cache", final=True)
    return cache


def _skip(node: Node) -> Optional[str]:
    """Skipped if the fleet has no compile cache, or if this node does not mount it."""
    training = node.manifest.training
    if training is None or training.compile_cache is None:
        return why_no_training(node) or "the fleet has no compile cache"
    return why_not_mounted(node, training.compile_cache.folder)


STEP = Step(
    name="compile_cache",
    summary="compiled graphs are on shared storage, and unused ones are removed",
    roles=EVERY_ROLE,
    apply=_apply,
    verify=_verify,
    needs=("mount_lustre", "mount_open_zfs"),
    skip=_skip,
)
