"""The steps, one a file. A file here is a step: it holds `STEP`, and is found by its name."""

from __future__ import annotations

import importlib
from pathlib import Path

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.step import Step


def every_step() -> dict[str, Step]:
    """Return all steps by name, in the order of their names. Raises `Failure` when a file holds none."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    return {name: _step(name) for name in names}


def _step(name: str) -> Step:
    try:
        step = importlib.import_module(f"{__name__}.{name}").STEP
        if step.name != name:
            raise ValueError(f"its step is called {step.name}")
    except Exception as error:
        cause = f"steps/{name}.py holds no step: {type(error).__name__}: {error}"
        raise Failure(Code.STEP_BROKEN, cause) from error
    return step
