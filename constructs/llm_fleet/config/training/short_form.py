"""What a user may write of training in short, written out: `training: neuron`, `neuron` for an environment."""

from typing import Any, cast

from llm_fleet.config.kinds import KIND
from llm_fleet.rules.training.environment import EnvironmentKind

_WORDS = (EnvironmentKind.NEURON.value, EnvironmentKind.SMP.value)
"""Kinds of which nothing else must be told."""


def training_in_long_form(training: Any) -> Any:
    """Return `training` with each short form written out; what is of another form stays as it is."""
    if isinstance(training, str) and training in _WORDS:
        return {"environments": {training: {KIND: training}}}
    if not isinstance(training, dict):
        return training
    written = cast("dict[str, Any]", training)
    environments = written.get("environments")
    if not isinstance(environments, dict):
        return written
    named = cast("dict[str, Any]", environments)
    return {**written, "environments": {name: _environment(each) for name, each in named.items()}}


def or_environment(schema: dict[str, Any]) -> None:
    """Tell editors of the short form: the word of a kind of which nothing else must be told."""
    long = [arm for arm in schema["anyOf"] if arm.get("type") != "null"]
    schema["anyOf"] = [*long, {"enum": list(_WORDS)}]


def _environment(written: Any) -> Any:
    return {KIND: written} if isinstance(written, str) and written in _WORDS else written
