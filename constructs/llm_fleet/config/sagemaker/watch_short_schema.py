"""Tells editors of the short forms of a watch's keys; `watch_short_forms` reads them."""

from typing import Any

from llm_fleet.catalog.training_watch import training_watch_facts
from llm_fleet.config.services.short_schema import also


def or_number(schema: dict[str, Any]) -> None:
    """Let a number stand for the most restarts."""
    also(schema, {"type": "integer", "minimum": 0})


def or_layout(schema: dict[str, Any]) -> None:
    """Let the name of a layout stand for it."""
    also(schema, {"enum": list(training_watch_facts().layouts)})


def or_metric(schema: dict[str, Any]) -> None:
    """Let the name of a metric stand for a condition on it."""
    also(schema, {"type": "string", "examples": ["train:loss"]})
