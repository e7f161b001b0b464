"""A stack as it was synthesized, or as it is deployed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_KEPT = ("Retain", "RetainExceptOnCreate", "Snapshot")


@dataclass(frozen=True, slots=True, kw_only=True)
class StackTemplate:
    """The template of one stack."""

    name: str
    region: str | None
    """`None` where the CDK CLI decides."""
    resources: Mapping[str, Mapping[str, Any]]
    """By logical id, as in the template."""
    paths: Mapping[str, str]
    """The construct's path of each, by logical id, where it is told."""

    def where(self, logical_id: str) -> str:
        """Return the construct's path of a resource, else its logical id."""
        told = self.resources.get(logical_id, {}).get("Metadata", {}).get("aws:cdk:path")
        return (told or self.paths.get(logical_id) or logical_id).removesuffix("/Resource")

    def is_kept(self, logical_id: str) -> bool:
        """Return whether the resource stays when it is taken out of the stack, or the stack is deleted."""
        return self.resources[logical_id].get("DeletionPolicy") in _KEPT
