"""The size of an update's batch, as a user writes it."""

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, InstanceOf, WithJsonSchema

from llm_fleet.rules.codes import Code
from llm_fleet.rules.terms import CapacityUnit
from llm_fleet.spec.values import wrong_value

_WRITTEN = re.compile(r"(\d+) *(%|nodes?)")
_UNITS = {"%": CapacityUnit.CAPACITY_PERCENTAGE, "node": CapacityUnit.INSTANCE_COUNT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """How many nodes an update takes at once."""

    unit: CapacityUnit
    value: int


def read_batch(written: Any) -> Batch:
    """Read `2 nodes` or `25%`."""
    match = _WRITTEN.fullmatch(written.strip()) if isinstance(written, str) else None
    if match is None:
        number = written if isinstance(written, int) and not isinstance(written, bool) else 2
        raise wrong_value(
            Code.QUANTITY,
            "a batch needs its unit: it counts nodes, or per cent of the group",
            allowed="`<n> nodes` or `<n>%`",
            remedy=f"write `{number} nodes` or `{number}%`",
        )
    value, unit = match.groups()
    return Batch(unit=_UNITS[unit.removesuffix("s")], value=int(value))


BatchSize = Annotated[
    InstanceOf[Batch],
    BeforeValidator(read_batch),
    WithJsonSchema({"type": "string", "pattern": r"^\d+ *(%|nodes?)$", "examples": ["2 nodes", "25%"]}),
]
"""A batch, written as `2 nodes` or `25%`."""
