"""Makes the models from plain values."""

import json
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from llm_fleet.fleet_file.explain import explain
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.repair import repair
from llm_fleet.fleet_file.short_forms import in_long_form
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem

_ROUNDS = 3
"""A mended value can uncover one more mistake around it; none was seen to need a third round."""

_MENDED = frozenset(Code) - {Code.DUPLICATE_KEY}
"""Of a key written twice, the first value is the user's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What could be made of a fleet file."""

    fleet: Fleet | None
    """The fleet; mended, so only good for judging the rest, when there are problems. `None` when past mending."""
    problems: list[Problem]

    def is_known(self, finding: Problem) -> bool:
        """Return whether `finding` is about what the user wrote, not about what was mended."""
        path = finding.path
        mended = [problem.path for problem in self.problems if problem.code in _MENDED]
        return not any(path[: len(other)] == other or other[: len(path)] == path for other in mended)


def build(data: dict[str, Any], problems: list[Problem]) -> Built:
    """Return the fleet that `data` describes, with all that is wrong with its form next to `problems`."""
    found = list(problems)
    for _ in range(_ROUNDS):
        try:
            # As JSON, strict typing takes lists for tuples and words for choices, but still no "4" for 4.
            data = in_long_form(data)
            return Built(fleet=Fleet.model_validate_json(json.dumps(data)), problems=found)
        except ValidationError as error:
            details = error.errors(include_url=False)
            told = {problem.path for problem in found}
            found += [problem for problem in map(explain, details) if problem.path not in told]
            data = repair(data, details)
    return Built(fleet=None, problems=found)
