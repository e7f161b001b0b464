"""Restores checkpoints from the mirror when the local folder has none, e.g. after the loss of a file system."""

from __future__ import annotations

from typing import Callable, Optional

from llm_fleet_training.checkpoints.aws import AwsFailed
from llm_fleet_training.checkpoints.checkpoints import Checkpoints, PassedOver
from llm_fleet_training.checkpoints.forcing import force_file, force_tree
from llm_fleet_training.checkpoints.mirror import fetch, listed
from llm_fleet_training.failures import Code, fail


def restore(checkpoints: Checkpoints, uri: str, say: Callable[[str], None]) -> Optional[int]:
    """Restore the newest complete checkpoint of the mirror; None when there is none. Called by rank 0 first.

    LFJ17 when the mirror cannot be read: the run may have checkpoints there, and must not begin from step 0 by
    mistake.
    """
    if checkpoints.steps():
        return None
    try:
        steps = listed(uri)
        for step in reversed(steps):
            if _restored(checkpoints, uri, step, say):
                return step
    except AwsFailed as error:
        fail(Code.MIRROR, f"{checkpoints.folder} has no checkpoint, and {uri} cannot be read: {error}", final=False)
    if steps:
        fail(Code.DAMAGED_CHECKPOINTS, f"none of the {len(steps)} checkpoints in {uri} is complete")
    return None


def _restored(checkpoints: Checkpoints, uri: str, step: int, say: Callable[[str], None]) -> bool:
    part = checkpoints.begin(step)
    if not fetch(uri, step, part.folder):
        say(f"step {step} in {uri} is skipped: it has no checkpoint.json")
        checkpoints.abandon(part)
        return False
    seen = checkpoints.look_into(part.folder, step)
    if isinstance(seen, PassedOver):
        say(f"step {step} in {uri} is skipped: {seen.why}")
        checkpoints.abandon(part)
        return False
    for path in part.folder.rglob("*"):
        if path.is_file():
            force_file(path)
    force_tree(part.folder)
    part.folder.rename(checkpoints.place(step))
    force_tree(checkpoints.folder)
    say(f"step {step} is restored from {uri}")
    return True
