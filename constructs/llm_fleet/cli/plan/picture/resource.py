"""One resource of a synthesized template."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resource:
    """One resource of one stack, as the template has it."""

    stack: str
    logical_id: str
    type: str
    """E.g. `AWS::FSx::FileSystem`."""
    properties: Mapping[str, Any]
    path: str
    """Where its construct stands in the tree, below the stack: `Bucket-data/Resource`. Empty if nothing tells."""

    @property
    def key(self) -> str:
        """What it is known by in the whole assembly."""
        return f"{self.stack}.{self.logical_id}"
