"""The interface between the engine (`stacks/`) and the code that creates resources (`resources/`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable


class Level(StrEnum):
    """How real a created resource is; shown in every CREATE_COMPLETE event."""

    API = "api"
    """Created through the service's own API, and readable there."""
    LAMBDA = "lambda"
    """A custom resource whose Lambda code was run."""
    RECORDED = "recorded"
    """Checked and recorded, but nothing was created, because no emulated service supports it."""
    NONE = "none"
    """There is nothing to create (CDK metadata, wait condition handles)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One resource to create, update or delete, with every intrinsic function resolved."""

    resource_type: str
    logical_id: str
    properties: Mapping[str, Any]
    """Resolved properties, without `AWS::NoValue` members; parameters stay strings, as in CloudFormation."""
    stack_name: str
    stack_id: str
    """The stack's ARN, which ends in its GUID."""
    region: str
    account: str
    old_properties: Mapping[str, Any] | None = None
    """On update: the properties of the last creation or update."""
    physical_id: str | None = None
    """On update and delete: the id that `create` returned."""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tags of the stack, and the `aws:cloudformation:*` ones; tags in `properties` override them."""
    old_tags: Mapping[str, str] | None = None
    """On update: the old tags of the stack. An update can change only these."""
    restoring: bool = False
    """Whether the update rolls back a partially failed one: some of `old_properties` were possibly never set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """The state of a resource after creation or update."""

    physical_id: str
    """The result of `Ref`."""
    attributes: Mapping[str, Any]
    """The results of `Fn::GetAtt`, by attribute name; nested ones by dotted name, e.g. `Endpoint.Address`."""
    level: Level
    notes: tuple[str, ...] = ()
    """Notes for the user, e.g. about a property that the emulated service does not keep."""


class ReplacementNeeded(Exception):
    """Raised by `update` if a change requires replacement: the engine creates a new resource and deletes the old."""


class ResourceFailed(Exception):
    """The service rejected the request; the message is shown in the stack's events."""


class NothingChanged(ResourceFailed):
    """Raised by `update` before anything was changed, so there is nothing to roll back."""


class ResourceProvider(Protocol):
    """Creates, updates and deletes resources of every supported type.

    The engine calls it from worker threads: one resource of a stack at a time, and several stacks at the same time.
    """

    def check(self, resource_type: str, properties_unresolved: Mapping[str, Any]) -> list[str]:
        """Return the errors of a resource before anything of its stack is created.

        Reports an unknown type and unknown properties. Values can still be intrinsic functions (`{"Ref": …}`,
        `{"Fn::…": …}`), also in place of a whole object, and are then not checked.
        """
        ...

    def attribute_names(self, resource_type: str) -> frozenset[str] | None:
        """Return the attributes of a type for `Fn::GetAtt`; `None` if any name is possible (custom resources).

        A name that ends in `.*` allows all nested names, e.g. `Outputs.*`.
        """
        ...

    def create(self, request: Request) -> Created:
        """Create the resource.

        Raises `ResourceFailed` if the service rejects it; then nothing of the resource must remain.
        """
        ...

    def update(self, request: Request) -> Created:
        """Change the resource in place and return its complete state.

        Raises `ReplacementNeeded` or `NothingChanged` (before anything is changed), or `ResourceFailed`.
        """
        ...

    def delete(self, request: Request) -> None:
        """Delete the resource; a missing one is no error. Raises `ResourceFailed` if it cannot be deleted."""
        ...

    def exists(self, resource_type: str, physical_id: str) -> bool:
        """Return whether the resource exists in the service (recorded ones: in the record)."""
        ...


@runtime_checkable
class PredictsReplacements(Protocol):
    """An optional part of a provider, by which a change set predicts replacements."""

    def replacing(self, resource_type: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> frozenset[str]:
        """Return the top-level properties whose change from `before` to `after` cannot be made in place.

        An `UNKNOWN` value in `after` counts as changed.
        """
        ...
