"""The types of single values of a notebook instance."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from llm_fleet.catalog.notebook import notebook_facts
from llm_fleet.spec.values import Quantity

NEVER = "never"
"""What a user writes for an instance that nothing stops."""

_IDLE = Quantity(
    noun="time",
    units={"min": 1, "minutes": 1, "h": 60, "hour": 60, "hours": 60, "days": 1440, "day": 1440},
    example="60 minutes",
    usual="minutes",
)


def _idle_schema() -> dict[str, Any]:
    return {"anyOf": [_IDLE.json_schema(), {"const": NEVER}]}


IdleMinutes = Annotated[
    int | None,
    BeforeValidator(lambda written: None if written is None else _IDLE.parse(written)),
    WithJsonSchema(_idle_schema()),
]
"""Minutes, written as `60 minutes` or `2 h`; `None` for `never`."""


def _types(schema: dict[str, Any]) -> None:
    schema["enum"] = sorted(notebook_facts().instance_type_names)


def _platforms(schema: dict[str, Any]) -> None:
    schema["enum"] = list(notebook_facts().living_platforms)


NotebookInstanceName = Annotated[str, Field(json_schema_extra=_types)]
"""An instance type by its `ml.` name. Which there are is for the rule to tell, and for the schema to offer."""

PlatformName = Annotated[str, Field(json_schema_extra=_platforms)]
"""A platform, likewise."""
