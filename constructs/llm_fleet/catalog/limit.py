"""The shapes that facts come in: bounds of a value, steps of capacity, fields of a cron expression."""

import re
from dataclasses import dataclass
from typing import Annotated

from llm_fleet.catalog.data_file import KEY


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Bounds of a number, of a text's length or of a list's length, and the pattern of a text. `None`: no bound."""

    minimum: int | None = None
    maximum: int | None = None
    pattern: str | None = None

    def holds(self, size: int) -> bool:
        """Return whether `size` is within the bounds."""
        return (self.minimum is None or size >= self.minimum) and (self.maximum is None or size <= self.maximum)

    def matches(self, text: str) -> bool:
        """Return whether the whole of `text` has the pattern; its length is not looked at."""
        return self.pattern is None or re.fullmatch(self.pattern, text) is not None

    def fits(self, text: str) -> bool:
        """Return whether `text` has the pattern and the length."""
        return self.matches(text) and self.holds(len(text))

    @property
    def range(self) -> str:
        """The bounds as a user reads them, e.g. `1 to 63`."""
        if self.minimum is not None and self.maximum is not None:
            return f"{self.minimum} to {self.maximum}"
        if self.maximum is not None:
            return f"up to {self.maximum}"
        return f"{self.minimum} or more" if self.minimum is not None else "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Amounts that may be asked for, in whatever unit the owner of the ladder tells."""

    single: tuple[int, ...] = ()
    """Amounts that are sold although they are no multiple of the step, in rising order."""
    step: int | None = None
    """Every multiple of it is sold, from `smallest_multiple` on; `None` where only the single amounts are."""
    most: int | None = None
    """The largest amount; `None` where no source tells one."""

    @property
    def smallest(self) -> int:
        """The smallest amount on the ladder."""
        amounts = (*self.single, *((self.step,) if self.step else ()))
        return min(amounts)

    def accepts(self, amount: int) -> bool:
        """Return whether exactly `amount` is sold."""
        if amount in self.single:
            return True
        if self.step is None or amount <= 0 or amount > (self.most or amount):
            return False
        return amount % self.step == 0

    def nearest(self, amount: int) -> tuple[int | None, int | None]:
        """Return the next amounts below and above `amount`; `None` where the ladder ends."""
        around = set(self.single)
        if self.step:
            floor = amount // self.step * self.step
            around |= {floor - self.step, floor, floor + self.step, *((self.most,) if self.most else ())}
        sold = sorted(a for a in around if self.accepts(a))
        below = [a for a in sold if a < amount]
        above = [a for a in sold if a > amount]
        return (below[-1] if below else None), (above[0] if above else None)

    def describe(self, unit: str) -> str:
        """Return the ladder in words, e.g. `1200 GiB and multiples of 2400 GiB`."""
        if self.step is None:
            return f"{', '.join(map(str, self.single))} {unit}"
        multiples = f"multiples of {self.step} {unit}" + (f" up to {self.most} {unit}" if self.most else "")
        return f"{', '.join(map(str, self.single))} {unit} and {multiples}" if self.single else multiples


@dataclass(frozen=True, slots=True, kw_only=True)
class CronField:
    """What a field may hold: numbers in a range, or the names that stand for them."""

    name: Annotated[str, KEY]
    minimum: int
    maximum: int
    names: tuple[str, ...] = ()
    """Names of the numbers from `minimum` on; empty where there are none."""

    def number(self, text: str) -> int | None:
        """Return the number that `text` stands for, or `None` when it is none that the field may hold."""
        if text.upper() in self.names:
            return self.minimum + self.names.index(text.upper())
        if not (text.isascii() and text.isdigit()):
            return None
        return int(text) if self.minimum <= int(text) <= self.maximum else None
