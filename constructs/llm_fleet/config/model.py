"""What all models of the fleet file have in common."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class FleetModel(BaseModel):
    """One mapping of the fleet file: strictly typed, frozen, and closed to keys that it does not know.

    Attributes bear the names that the rules use; where a user writes another word, it is the field's alias. What stands
    in quotes below an attribute is what its user is told (`descriptions`).
    """

    model_config = ConfigDict(
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
