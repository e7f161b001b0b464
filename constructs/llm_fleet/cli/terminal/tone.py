"""What a word on the terminal means at a glance."""

from dataclasses import dataclass
from enum import Enum


class Tone(Enum):
    """The colour of a word, as SGR codes that every terminal has."""

    PLAIN = ""
    GOOD = "32"
    WARNING = "33"
    BAD = "31"
    DIM = "2"
    STRONG = "1"


@dataclass(frozen=True, slots=True)
class Toned:
    """Text with a tone. No meaning is in the tone alone: the text says it, too."""

    text: str
    tone: Tone = Tone.PLAIN

    def __str__(self) -> str:
        return self.text


def painted(text: str, tone: Tone, *, colour: bool) -> str:
    """Return `text` in the colour of `tone` where there is `colour`."""
    return f"\x1b[{tone.value}m{text}\x1b[0m" if colour and tone.value and text else text
