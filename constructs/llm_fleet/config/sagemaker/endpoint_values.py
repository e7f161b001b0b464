"""The types of single values of an endpoint's operations."""

from typing import Annotated

from llm_fleet.spec.values import Quantity

_HOURS = Quantity(noun="time", units={"hours": 1, "hour": 1, "h": 1, "days": 24, "day": 24}, example="6 hours")
_DOLLARS = Quantity(noun="sum of money", units={"USD": 1}, example="200 USD")
_LIFETIME = Quantity(
    noun="time",
    units={"s": 1, "min": 60, "minutes": 60, "h": 3600, "hour": 3600, "hours": 3600, "day": 86400, "days": 86400},
    example="4 hours",
    usual="hours",
)

Hours = Annotated[int, _HOURS]
"""Whole hours, written as `6 hours`."""

Dollars = Annotated[int, _DOLLARS]
"""Whole US dollars, written as `200 USD`."""

TimeToLiveSeconds = Annotated[int, _LIFETIME]
"""Seconds, written as `4 hours`."""
