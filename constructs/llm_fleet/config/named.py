"""What has its name from the key that it stands under."""

from collections.abc import Mapping
from typing import TypeVar

from pydantic import PrivateAttr

from llm_fleet.config.model import FleetModel


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
