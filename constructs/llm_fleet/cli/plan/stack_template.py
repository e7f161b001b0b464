"""A stack as it was synthesized, or as it is deployed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

_KEPT = ("Retain", "RetainExceptOnCreate")
_SNAPSHOT = "Snapshot"
_SNAPSHOT_BY_DEFAULT = ("AWS::RDS::DBCluster", "AWS::RDS::DBInstance")
"""Types whose DeletionPolicy is Snapshot where the template says nothing; of an instance, outside a cluster."""


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
    outputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """By their keys, as in the template."""

    @property
    def exports(self) -> Mapping[str, Any]:
        """The values of the outputs that other stacks may import, by export name."""
        offered = [
            (output["Export"]["Name"], output["Value"]) for output in self.outputs.values() if "Export" in output
        ]
        return {name: value for name, value in offered if isinstance(name, str)}

    @property
    def imports(self) -> frozenset[str]:
        """The export names of the values that it takes from other stacks."""
        parts = values_in([self.resources, self.outputs])
        names = [
            cast("Mapping[str, object]", part).get("Fn::ImportValue") for part in parts if isinstance(part, Mapping)
        ]
        return frozenset(name for name in names if isinstance(name, str))

    def where(self, logical_id: str) -> str:
        """Return the construct's path of a resource, else its logical id."""
        told = self.resources.get(logical_id, {}).get("Metadata", {}).get("aws:cdk:path")
        return (told or self.paths.get(logical_id) or logical_id).removesuffix("/Resource")

    def is_kept(self, logical_id: str) -> bool:
        """Return whether the resource stays when it is taken out of the stack, or the stack is deleted."""
        return self.resources[logical_id].get("DeletionPolicy") in _KEPT

    def leaves_snapshot(self, logical_id: str) -> bool:
        """Return whether a snapshot of the resource is made before it is deleted, and stays.

        Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-deletionpolicy.html
        (2026-11)
        """
        resource = self.resources[logical_id]
        alone = "DBClusterIdentifier" not in resource.get("Properties", {})
        default = _SNAPSHOT if alone and resource.get("Type") in _SNAPSHOT_BY_DEFAULT else None
        return resource.get("DeletionPolicy", default) == _SNAPSHOT

    def leaves_snapshot_when_replaced(self, logical_id: str) -> bool:
        """Return whether a snapshot of the former resource is made before it is deleted, and stays."""
        return self.resources[logical_id].get("UpdateReplacePolicy") == _SNAPSHOT

    def is_kept_when_replaced(self, logical_id: str) -> bool:
        """Return whether the former resource stays when another one takes its place."""
        return self.resources[logical_id].get("UpdateReplacePolicy") in _KEPT


def values_in(value: object) -> Iterator[object]:
    """Yield `value` and everything within it."""
    yield value
    inner: list[object] = []
    if isinstance(value, Mapping):
        inner = list(cast("Mapping[str, object]", value).values())
    elif isinstance(value, list):
        inner = cast("list[object]", value)
    for part in inner:
        yield from values_in(part)


def value_at(properties: object, path: str) -> Any:
    """Return the value at `path`, keys with dots between them; `None` where there is none."""
    value = properties
    for key in path.split("."):
        value = cast("Mapping[str, Any]", value).get(key) if isinstance(value, Mapping) else None
    return value
