"""What an import has to say about what it did."""

from dataclasses import dataclass, field
from enum import StrEnum


class NoteKind(StrEnum):
    """What happened to something of the request."""

    MENDED = "mended"
    """It was wrong, and is right now."""
    CHOSEN = "chosen"
    """The request did not say it, or leaves it to the fleet."""
    LEFT_OUT = "left out"
    """It has no place in a fleet file."""
    NOT_UNDERSTOOD = "not understood"
    """It may be misspelled, and is not in the fleet file: the file may say something else than the request meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One line about one thing."""

    kind: NoteKind
    text: str

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.text}"


@dataclass(slots=True)
class Notes:
    """The lines, in the order in which things were met, each once."""

    notes: list[Note] = field(default_factory=list[Note])

    def mended(self, text: str) -> None:
        """Say that something was wrong and is right now."""
        self._add(NoteKind.MENDED, text)

    def chosen(self, text: str) -> None:
        """Say that something was decided that the request leaves open."""
        self._add(NoteKind.CHOSEN, text)

    def left_out(self, text: str) -> None:
        """Say that something of the request is not in the fleet file, and why."""
        self._add(NoteKind.LEFT_OUT, text)

    def not_understood(self, text: str) -> None:
        """Say that something is not in the fleet file because it is nothing that is known, a typo perhaps."""
        self._add(NoteKind.NOT_UNDERSTOOD, text)

    def _add(self, kind: NoteKind, text: str) -> None:
        note = Note(kind=kind, text=text)
        if note not in self.notes:
            self.notes.append(note)
