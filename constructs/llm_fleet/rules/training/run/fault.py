"""What is wrong with how a run is spread, before anybody knows what to write instead."""

from dataclasses import dataclass
from typing import Any

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import PathPart


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A mistake; `mend` finds the remedy, by trying what has none."""

    code: Code
    message: str
    path: tuple[PathPart, ...]
    value: Any = None
    allowed: str = ""
