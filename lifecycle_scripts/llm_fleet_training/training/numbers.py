"""Ranges of the numeric settings, checked before anything is started."""

from __future__ import annotations

import math
from typing import List

from llm_fleet_training.failures import Code, Failure
from llm_fleet_training.settings import Settings

COUNTS = ("sequence_length", "global_batch", "micro_batch", "steps", "checkpoint_every", "checkpoints_kept")
ABOVE_ZERO = ("learning_rate", "adam_epsilon")
FROM_ZERO = ("minimum_learning_rate", "weight_decay", "clip")
SHARES = ("beta1", "beta2")


def wrong_numbers(settings: Settings, world: int) -> List[Failure]:
    """Errors in the numbers of a start with `world` processes. `nan` is in no range."""
    found = [_wrong(name, settings, "1 or more") for name in COUNTS if getattr(settings, name) < 1]
    if settings.warmup_steps < 0:
        found.append(_wrong("warmup_steps", settings, "0 or more"))
    if settings.compile_only is not None and settings.compile_only < 1:
        found.append(_wrong("compile_only", settings, "1 or more"))
    found += [
        _wrong(name, settings, "a number above 0") for name in ABOVE_ZERO if not 0 < getattr(settings, name) < math.inf
    ]
    found += [_wrong(name, settings, "0 or more") for name in FROM_ZERO if not 0 <= getattr(settings, name) < math.inf]
    found += [_wrong(name, settings, "0 to below 1") for name in SHARES if not 0 <= getattr(settings, name) < 1]
    if settings.warmup_steps > settings.steps > 0:
        cause = f"--warmup-steps {settings.warmup_steps} is above --steps {settings.steps}"
        found.append(Failure(Code.ARGUMENTS, cause))
    if world < 1:
        found.append(Failure(Code.ARGUMENTS, f"--processes is {world}; it must be 1 or more"))
    return found


def _wrong(name: str, settings: Settings, allowed: str) -> Failure:
    option = name.replace("_", "-")
    return Failure(Code.ARGUMENTS, f"--{option} is {getattr(settings, name)}; it must be {allowed}")
