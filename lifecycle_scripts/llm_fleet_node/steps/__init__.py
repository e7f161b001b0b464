"""The steps, one in each file, as `STEP`. The file has the name of the step."""

from __future__ import annotations

import importlib
from pathlib import Path

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.step import Step


def every_step() -> dict[str, Step]:
    """Return all steps by name, in the order of their names. Raises `Failure` if a file has none."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    return {name: _step(name) for name in names}


def _step(name: str) -> Step:
    try:
        step = importlib.import_module(f"{__name__}.{name}").STEP
        if step.name != name:
            raise ValueError(f"its step has the name {step.name}")
    except Exception as error:
        cause = f"steps/{name}.py has no valid step: {type(error).__name__}: {error}"
        raise Failure(Code.STEP_NOT_LOADED, cause) from error
    return step
