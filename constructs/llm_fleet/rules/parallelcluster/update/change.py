"""One change between two configurations."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A key, section or item of a list that differs."""

    section: tuple[str, ...]
    """The sections that it is in, items of lists by their names, e.g. `("Scheduling", "SlurmQueues[trn1]")`."""
    key: str
    old: Any
    """`None` where there was none."""
    new: Any
    """`None` where there is none any more."""
    policy: str
    """Name of ParallelCluster's update policy."""
    is_item: bool = False
    """Whether it is a whole item of the list `key`, added or removed."""

    @property
    def path(self) -> tuple[str, ...]:
        """Sections and key."""
        return (*self.section, self.key)

    @property
    def in_queue(self) -> bool:
        """Whether it is within a queue, where `QueueUpdateStrategy` has a say."""
        return any(part.startswith("SlurmQueues[") for part in self.section)

    @property
    def adds_item(self) -> bool:
        """Whether an item is added to a list."""
        return self.is_item and self.old is None

    @property
    def pool(self) -> str:
        """Name of the login pool that it is within; empty outside of pools."""
        return self.item_name("Pools")

    def item_name(self, items: str) -> str:
        """Return the name of the item of the list `items` that it is within; empty outside of such."""
        prefix = f"{items}["
        return next((part[len(prefix) : -1] for part in self.section if part.startswith(prefix)), "")
