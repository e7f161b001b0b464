"""The interface between the engine (`stacks/`) and the code that creates resources (`resources/`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable


class Level(StrEnum):
    """How real a created resource is; every CREATE_COMPLETE event says it."""

    API = "api"
    """Created through the service's own API: it can be read back there."""
    LAMBDA = "lambda"
    """A custom resource whose Lambda code really ran."""
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
    """Resolved properties. `AWS::NoValue` members are gone; parameters stay strings, as CloudFormation gives them."""
    stack_name: str
    stack_id: str
    """The stack's ARN, which ends in its GUID."""
    region: str
    account: str
    old_properties: Mapping[str, Any] | None = None
    """On update: the properties that the resource was last created or updated with."""
    physical_id: str | None = None
    """On update and delete: the id that `create` returned."""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tags of the whole stack, plus the `aws:cloudformation:*` ones; `properties` wins where a key is in both."""
    old_tags: Mapping[str, str] | None = None
    """On update: the stack's tags before. An update can change these alone."""
    restoring: bool = False
    """Whether the update rolls back one that failed half-way: some of `old_properties` may never have been set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """What exists now."""

    physical_id: str
    """What `Ref` gives."""
    attributes: Mapping[str, Any]
    """What `Fn::GetAtt` gives, by attribute name; nested ones by their dotted name, e.g. `Endpoint.Address`."""
    level: Level
    notes: tuple[str, ...] = ()
    """What the user should know, e.g. a property that the emulated service does not keep."""


class ReplacementNeeded(Exception):
    """Raised by `update` when a change requires replacement: the engine creates a new resource, and deletes the old."""


class ResourceFailed(Exception):
    """The service rejected; the message is what the user reads in the stack's events."""


class NothingChanged(ResourceFailed):
    """Raised by `update` when it rejects before it has changed anything: there is nothing to roll back then."""


class ResourceProvider(Protocol):
    """Creates, updates and deletes resources of every supported type.

    The engine calls it from worker threads, one resource of a stack at a time; two stacks may call at the same time.
    """

    def check(self, resource_type: str, properties_unresolved: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with a resource before anything of its stack is created; empty when nothing is.

        Names an unknown type and unknown properties. Values may still be intrinsic functions (`{"Ref": …}`,
        `{"Fn::…": …}`), also in place of a whole object, and are then not checked.
        """
        ...

    def attribute_names(self, resource_type: str) -> frozenset[str] | None:
        """Return the attributes of a type for `Fn::GetAtt`; `None` when any name can exist (custom resources).

        A name that ends in `.*` allows everything below it, e.g. `Outputs.*`.
        """
        ...

    def create(self, request: Request) -> Created:
        """Create the resource.

        Raises `ResourceFailed` when the service rejects; then it must leave nothing behind.
        """
        ...

    def update(self, request: Request) -> Created:
        """Change the resource in place and return its whole state.

        Raises `ReplacementNeeded` or `NothingChanged` (before anything is changed), or `ResourceFailed`.
        """
        ...

    def delete(self, request: Request) -> None:
        """Delete the resource; one that is gone already is no error. Raises `ResourceFailed` when it cannot go."""
        ...

    def exists(self, resource_type: str, physical_id: str) -> bool:
        """Return whether the resource exists in the service (recorded ones: in the record)."""
        ...


@runtime_checkable
class KnowsReplacements(Protocol):
    """What a provider may also offer, so that a change set can foretell replacements."""

    def replacing(self, resource_type: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> frozenset[str]:
        """Return the top-level properties whose change from `before` to `after` cannot be made in place.

        A value in `after` that is not known yet counts as changed.
        """
        ...
