"""What all models of the fleet file have in common."""

from collections.abc import Mapping
from typing import ClassVar, TypeVar

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
