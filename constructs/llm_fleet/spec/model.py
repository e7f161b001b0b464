"""What all models of the fleet file have in common."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

from pydantic import BaseModel, ConfigDict, PrivateAttr


class FleetModel(BaseModel):
    """One mapping of the fleet file: strictly typed, frozen, and closed to keys that it does not know.

    Attributes bear the names that the rules use; where a user writes another word, it is the field's alias. What stands
    in quotes below an attribute is what its user is told (`descriptions`).
    """

    model_config = ConfigDict(
        defer_build=True,
        strict=True,
        frozen=True,
        extra="forbid",
        ser_json_inf_nan="constants",
    )

    written_as: ClassVar[Mapping[str, str]] = {}
    """Keys of the file by names that rules use and that are no fields: what is worked out from the key."""

    other_words: ClassVar[Mapping[str, str]] = {}
    """Remedies for keys, and words in their values, that people bring from elsewhere."""

    @classmethod
    def key_of(cls, attribute: str) -> str:
        """Return the key under which a user writes `attribute`."""
        field = cls.model_fields.get(attribute)
        if field is not None:
            return field.alias or attribute
        return cls.written_as.get(attribute, attribute)

    @classmethod
    def keys(cls) -> list[str]:
        """Return every key that the mapping may have."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    def stand_in(self, directory: Path | None) -> None:
        """Take `directory`, that of the fleet file, for the one that relative paths begin at; for the loader.

        `None` where it is not known: nothing is looked for then.
        """
        for value in self.__dict__.values():
            for part in _parts(value):
                part.stand_in(directory)


class WithPaths(FleetModel):
    """A mapping with relative paths: from where the fleet file lies, in Python from where the process runs."""

    _directory: Path | None = PrivateAttr(default=Path())

    def stand_in(self, directory: Path | None) -> None:
        """Take `directory` for the one that relative paths begin at, here and below."""
        self._directory = directory
        super().stand_in(directory)

    @property
    def is_placed(self) -> bool:
        """Whether it is known where relative paths begin."""
        return self._directory is not None

    def path_of(self, written: str | PathLike[str]) -> Path:
        """Return the path `written`, as seen from the process."""
        return (self._directory or Path()) / written


def _parts(value: Any) -> list[FleetModel]:
    """Return the mappings in the value of a field."""
    entries: list[Any] = [value]
    if isinstance(value, Mapping):
        entries = list(cast("Mapping[Any, Any]", value).values())
    elif isinstance(value, tuple):
        entries = list(cast("tuple[Any, ...]", value))
    return [each for each in entries if isinstance(each, FleetModel)]


class NamedModel(FleetModel):
    """An entry of a mapping whose key is its name, so that no name is written twice."""

    _name: str = PrivateAttr(default="")

    @property
    def name(self) -> str:
        """The key that it stands under."""
        return self._name

    def called(self, name: str) -> None:
        """Take `name`; for the mapping that holds this entry, once it is read."""
        self._name = name


_Entry = TypeVar("_Entry", bound=NamedModel)


def name_entries(entries: Mapping[str, _Entry]) -> Mapping[str, _Entry]:
    """Tell each entry its key."""
    for name, entry in entries.items():
        entry.called(name)
    return entries
