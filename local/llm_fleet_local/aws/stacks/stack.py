"""The state of one stack. Only the thread of its operation writes it; readers copy its lists.

Source: model botocore cloudformation StackStatus
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from llm_fleet_local.aws.resource_provider import Level
from llm_fleet_local.aws.stacks.change_set import ChangeSet
from llm_fleet_local.aws.stacks.definition import Definition

STACK_TYPE = "AWS::CloudFormation::Stack"


@dataclass(slots=True, kw_only=True)
class StackResource:
    """One resource that a stack has, or tried to have."""

    logical_id: str
    resource_type: str
    properties: Mapping[str, Any]
    """As evaluated from the template; dynamic references are not resolved, because secrets must not be stored here."""
    given: Mapping[str, Any]
    """The provider's input: dynamic references are resolved."""
    tags: Mapping[str, str]
    needs: tuple[str, ...]
    deletion_policy: str
    update_replace_policy: str
    metadata: Any = None
    physical_id: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    level: Level = Level.API
    notes: tuple[str, ...] = ()
    status: str = ""
    reason: str | None = None
    changed: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event of a stack."""

    event_id: str
    operation_id: str
    logical_id: str
    physical_id: str
    resource_type: str
    status: str
    reason: str | None
    timestamp: datetime
    token: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """An output of a stack, exported if it has an export name."""

    key: str
    value: str
    description: str | None
    export_name: str | None


@dataclass(slots=True, kw_only=True)
class Stack:
    """A stack, from its first change set to its deletion (deleted ones can still be described by id)."""

    name: str
    region: str
    account: str
    stack_id: str
    definition: Definition
    """Its last deployed definition; empty before the first deployment."""
    status: str = "REVIEW_IN_PROGRESS"
    reason: str | None = None
    resources: dict[str, StackResource] = field(default_factory=dict[str, StackResource])
    outputs: tuple[Output, ...] = ()
    imports: frozenset[str] = frozenset()
    """Names of other stacks' exports that it uses."""
    events: list[Event] = field(default_factory=list[Event])
    """Oldest first."""
    change_sets: dict[str, ChangeSet] = field(default_factory=dict[str, ChangeSet])
    """By name."""
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    updated: datetime | None = None
    deleted: datetime | None = None
    termination_protection: bool = False
    disable_rollback: bool = False
    acknowledged: tuple[str, ...] = ()
    """Capabilities acknowledged for the current or last operation."""
    parent_id: str | None = None
    root_id: str | None = None
    operation_id: str = ""
    token: str | None = None

    @property
    def in_progress(self) -> bool:
        """Whether an operation runs on the stack."""
        return self.status.endswith("_IN_PROGRESS") and self.status != "REVIEW_IN_PROGRESS"

    def begin(self, status: str, *, token: str | None = None, reason: str | None = None) -> None:
        """Start an operation: later events carry its id."""
        self.operation_id = str(uuid.uuid4())
        self.token = token
        self.set_status(status, reason)

    def set_status(self, status: str, reason: str | None = None) -> None:
        """Change the stack's status and add its event. The event is added first: waiting clients stop at the status."""
        self.add_event(self.name, self.stack_id, STACK_TYPE, status, reason)
        self.reason = reason
        self.status = status

    def add_event(self, logical_id: str, physical_id: str, resource_type: str, status: str, reason: str | None) -> None:
        """Add an event, at least a millisecond after the last: clients sort by time in milliseconds."""
        now = datetime.now(UTC)
        if self.events:
            now = max(now, self.events[-1].timestamp + timedelta(milliseconds=1))
        self.events.append(
            Event(
                event_id=f"{logical_id}-{status}-{uuid.uuid4()}",
                operation_id=self.operation_id,
                logical_id=logical_id,
                physical_id=physical_id,
                resource_type=resource_type,
                status=status,
                reason=reason,
                timestamp=now,
                token=self.token,
            )
        )
