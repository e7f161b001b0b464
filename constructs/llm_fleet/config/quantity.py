"""Sizes, rates and times with their units, as a user writes them, turned into the services' whole numbers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from llm_fleet.config.wrong_value import wrong_value
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import nearest

_WRITTEN = re.compile(r"(-?\d+(?:\.\d+)?) *([A-Za-zµ][A-Za-z/]*)", re.ASCII)
_BARE = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One kind of quantity: its units by what they count in the unit that the API takes."""

    noun: str
    units: Mapping[str, int]
    """The first is the API's own, and worth 1."""
    example: str
    usual: str = ""
    """The unit that who forgets it most likely means. Default: the API's own."""

    def parse(self, written: Any) -> int:
        """Return `written` in the API's unit; a bare number is refused with the unit offered."""
        amount, unit = self._amount_and_unit(written)
        number = amount * self.units[unit]
        own = next(iter(self.units))
        if number != number.to_integral_value():
            raise wrong_value(
                Code.QUANTITY,
                f"{written} is {number.normalize():f} {own}, which is no whole number",
                allowed=f"a whole number of {own}",
                remedy=f"write it in {own}, e.g. `{max(1, int(number))} {own}`",
            )
        return int(number)

    def _amount_and_unit(self, written: Any) -> tuple[Decimal, str]:
        if isinstance(written, int | float) and not isinstance(written, bool):
            raise self._no_unit(str(written))
        if not isinstance(written, str):
            raise self._refusal(f"a {self.noun} is text with a number and a unit", f"write e.g. `{self.example}`")
        text = written.strip()
        if _BARE.fullmatch(text):
            raise self._no_unit(text)
        match = _WRITTEN.fullmatch(text)
        if match is None:
            raise self._refusal(f"this is no {self.noun}", f"write e.g. `{self.example}`")
        amount, unit = match.groups()
        if unit not in self.units:
            offer = nearest(unit, self.units) or _TWINS.get(unit.casefold())
            right = f"`{amount} {offer}`" if offer in self.units else f"`{self.example}`"
            raise self._refusal(f"{unit} is no unit of a {self.noun} here", f"write e.g. {right}")
        return Decimal(amount), unit

    def _no_unit(self, number: str) -> Exception:
        unit = self.usual or next(iter(self.units))
        # Nothing that is asked for is of size nought: with its unit it would be refused for that.
        right = f"write `{number} {unit}`" if Decimal(number) else f"write e.g. `{self.example}`"
        return self._refusal(f"a {self.noun} needs its unit", right)

    def _refusal(self, message: str, remedy: str) -> Exception:
        allowed = f"a number and one of {', '.join(self.units)}, e.g. `{self.example}`"
        return wrong_value(Code.QUANTITY, message, allowed=allowed, remedy=remedy)

    def json_schema(self) -> dict[str, Any]:
        """Return what an editor needs to know of it."""
        units = "|".join(re.escape(unit) for unit in self.units)
        return {"type": "string", "pattern": rf"^\d+(\.\d+)? *({units})$", "examples": [self.example]}


_TWINS = {
    "gb": "GiB",
    "tb": "TiB",
    "g": "GiB",
    "t": "TiB",
    "sec": "s",
    "seconds": "s",
    "m": "min",
    "minutes": "min",
    "hour": "h",
    "hours": "h",
    "d": "days",
}
"""What people write for a unit that has another name here."""

SIZE = Quantity(noun="size", units={"GiB": 1, "TiB": 1024}, example="500 GiB")

LUSTRE_SIZE = Quantity(noun="size", units={"GiB": 1, "TiB": 1000}, example="4800 GiB")
"""FSx sells 1.2 TiB where it means 1200 GiB: for Lustre, a TiB is a thousand GiB in the user guide and the console."""

RECORD_SIZE = Quantity(noun="size", units={"KiB": 1, "MiB": 1024}, example="128 KiB")

RATE = Quantity(noun="throughput", units={"MB/s": 1, "GB/s": 1000}, example="320 MB/s")

SECONDS = Quantity(
    noun="time",
    units={"s": 1, "min": 60, "h": 3600, "days": 86400, "day": 86400},
    example="30 min",
)

DAYS = Quantity(noun="time", units={"days": 1, "day": 1}, example="30 days")

MEMORY = Quantity(noun="size", units={"MiB": 1, "GiB": 1024}, example="480 GiB", usual="GiB")

RATE_OF_VOLUME = Quantity(noun="throughput", units={"MiB/s": 1}, example="250 MiB/s")
"""EBS counts in MiB, where FSx counts in MB."""

IDLE_TIME = Quantity(noun="time", units={"min": 1, "h": 60}, example="10 min")
