"""Finds the checkpoint to resume from: the newest undamaged one of this run, the same on all processes."""

from __future__ import annotations

from pathlib import Path
from typing import Callable, List, Optional

from llm_fleet_training.backends.backend import Backend
from llm_fleet_training.checkpoints.checkpoints import Checkpoints, Complete
from llm_fleet_training.failures import Code, fail
from llm_fleet_training.model.config import ModelConfig
from llm_fleet_training.settings import Settings
from llm_fleet_training.training.belonging import belongs
from llm_fleet_training.training.preflight import broken


def find(
    backend: Backend, checkpoints: Checkpoints, settings: Settings, config: ModelConfig, say: Callable[[str], None]
) -> Optional[Complete]:
    """None when there is no checkpoint; LFJ14 when there are some, but all are unusable.

    Each file's digest is read once, by one of the processes. Skipped ones are logged with the reason.
    """
    before: Optional[int] = None
    why: List[str] = []
    while True:
        found, passed = checkpoints.newest_complete(before)
        why += [f"{one.folder.name}: {one.why}" for one in passed]
        if backend.is_main:
            for one in passed:
                say(f"{one.folder.name} is skipped: {one.why}")
        step = _agreed(backend, found, checkpoints.folder)
        if found is None or step is None:
            if why:
                raise broken(checkpoints, why)
            return None
        belongs(found, settings, config, backend.world)
        damage = _damage(backend, checkpoints, found)
        if not damage:
            return found
        say(f"{found.folder.name} is skipped: {'; '.join(damage)}")
        why += [f"{found.folder.name}: {'; '.join(damage)}"]
        before = step


def _agreed(backend: Backend, found: Optional[Complete], folder: Path) -> Optional[int]:
    """All processes must see the same folder."""
    seen = backend.exchange("" if found is None else str(found.step))
    for rank, one in enumerate(seen):
        if one != seen[0]:
            fail(
                Code.INCOMPLETE_CHECKPOINT,
                f"in {folder} process 0 sees {_word(seen[0])}, process {rank} {_word(one)}",
                final=False,
                shared=True,
            )
    return int(seen[0]) if seen[0] else None


def _word(step: str) -> str:
    return f"a checkpoint of step {step}" if step else "none"


def _damage(backend: Backend, checkpoints: Checkpoints, found: Complete) -> List[str]:
    own = checkpoints.damage(found, share=backend.rank, of=backend.world)
    return [line for text in backend.exchange("\n".join(own)) for line in text.splitlines()]
