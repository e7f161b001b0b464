"""One field of a cron expression."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CronField:
    """What a field may hold: numbers in a range, or the names that stand for them."""

    name: str
    minimum: int
    maximum: int
    names: tuple[str, ...]
    """Names of the numbers from `minimum` on; empty where there are none."""

    def number(self, text: str) -> int | None:
        """Return the number that `text` stands for, or `None` when it is none that the field may hold."""
        if text.upper() in self.names:
            return self.minimum + self.names.index(text.upper())
        if not (text.isascii() and text.isdigit()):
            return None
        return int(text) if self.minimum <= int(text) <= self.maximum else None
