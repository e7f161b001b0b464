"""A part of the plan, for people and as data."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from llm_fleet.cli.terminal.plain_text import plain_text
from llm_fleet.cli.terminal.screen import Screen
from llm_fleet.cli.terminal.table import Table
from llm_fleet.cli.terminal.tone import Tone, Toned, painted


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part of the plan."""

    key: str
    """Its name in the JSON."""
    title: str
    parts: Sequence[Table | str | Toned] = ()
    """Tables and paragraphs, in their order."""
    data: Any = field(default=None)
    """The same for JSON."""

    def text(self, screen: Screen) -> str:
        """Return it as `screen` can show it, an empty line at its end."""
        heading = painted(self.title, Tone.STRONG, colour=screen.colour)
        return "\n".join([heading, *(_shown(part, screen).rstrip("\n") for part in self.parts), "", ""])


def _shown(part: Table | str | Toned, screen: Screen) -> str:
    if isinstance(part, Table):
        return part.text(screen)
    toned = part if isinstance(part, Toned) else Toned(part)
    text = plain_text(toned.text)
    lines = [text] if screen.width is None else textwrap.wrap(text, max(screen.width, 1), break_on_hyphens=False)
    return "\n".join(painted(line, toned.tone, colour=screen.colour) for line in lines)
