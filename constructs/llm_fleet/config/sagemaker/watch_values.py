"""The types of single values of a watch."""

from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from llm_fleet.config.quantity import Quantity

_MINUTES = Quantity(noun="time", units={"min": 1, "h": 60}, example="30 min")

Minutes = Annotated[int, BeforeValidator(_MINUTES.parse), WithJsonSchema(_MINUTES.json_schema())]
"""Minutes, written as `30 min` or `2 h`: SageMaker sends metrics once a minute."""
