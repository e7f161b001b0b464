"""The types of single values of a watch."""

from typing import Annotated

from llm_fleet.spec.values import Quantity

_MINUTES = Quantity(noun="time", units={"min": 1, "h": 60}, example="30 min")

Minutes = Annotated[int, _MINUTES]
"""Minutes, written as `30 min` or `2 h`: SageMaker sends metrics once a minute."""
