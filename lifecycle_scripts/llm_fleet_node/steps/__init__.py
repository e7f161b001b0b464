"""The steps, one a file. A file here is a step: it holds `STEP`, and is found by its name."""

from __future__ import annotations

import importlib
from pathlib import Path

from llm_fleet_node.step import Step


def every_step() -> dict[str, Step]:
    """Return all steps by name, in the order of their names."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    found: list[Step] = [importlib.import_module(f"{__name__}.{name}").STEP for name in names]
    return {step.name: step for step in found}
