"""What a service's model demands of one field."""

import re
from dataclasses import dataclass


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

    @property
    def range(self) -> str:
        """The bounds as a user reads them, e.g. `1 to 63`."""
        if self.minimum is not None and self.maximum is not None:
            return f"{self.minimum} to {self.maximum}"
        if self.maximum is not None:
            return f"up to {self.maximum}"
        return f"{self.minimum} or more" if self.minimum is not None else "any"
