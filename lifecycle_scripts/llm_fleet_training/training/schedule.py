"""The learning rate of a step: linear warm-up, then cosine decay."""

from __future__ import annotations

import math

from llm_fleet_training.settings import Settings


def learning_rate(step: int, settings: Settings) -> float:
    """Of step `step`, from 0. The minimum is reached at the run's last step."""
    if step < settings.warmup_steps:
        return settings.learning_rate * (step + 1) / settings.warmup_steps
    lowest = min(settings.minimum_learning_rate, settings.learning_rate)
    span = max(1, settings.steps - 1 - settings.warmup_steps)
    share = min(1.0, (step - settings.warmup_steps) / span)
    return lowest + (settings.learning_rate - lowest) * 0.5 * (1.0 + math.cos(math.pi * share))
