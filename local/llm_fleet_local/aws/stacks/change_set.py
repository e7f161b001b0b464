"""Change sets: the changes of an update, and whether it can be executed.

Source: model botocore cloudformation DescribeChangeSetOutput
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from llm_fleet_local.aws.stacks.definition import Definition
from llm_fleet_local.aws.template.finding import Finding

NO_CHANGES = "The submitted information didn't contain changes. Submit different information to create a change set."
"""The CDK CLI recognizes an empty change set by the beginning of this sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyChange:
    """One property, or one other part, of a resource that changes."""

    attribute: str
    """`Properties`, `Tags`, `Metadata`, `DeletionPolicy` or `UpdateReplacePolicy`."""
    name: str | None = None
    before: Any = None
    after: Any = None
    dynamic: bool = False
    """Whether the new value is known only after another resource has changed."""
    recreation: str = "Never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The change of one resource: `action` is `Add`, `Modify` or `Remove`."""

    action: str
    logical_id: str
    resource_type: str
    physical_id: str | None = None
    replacement: str | None = None
    """On `Modify`: `True`, `False`, or `Conditional` if it depends on a value that is not known yet."""
    policy_action: str | None = None
    details: tuple[PropertyChange, ...] = ()
    before: Any = None
    after: Any = None


@dataclass(slots=True, kw_only=True)
class ChangeSet:
    """A planned operation on a stack."""

    name: str
    change_set_id: str
    kind: str
    """`CREATE` or `UPDATE`."""
    target: Definition
    changes: tuple[Change, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Why the template was rejected; DescribeEvents returns it."""
    status: str = "CREATE_COMPLETE"
    reason: str | None = None
    execution_status: str = "AVAILABLE"
    description: str | None = None
    on_stack_failure: str | None = None
    include_nested: bool = False
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    deployment_config: dict[str, Any] | None = None
