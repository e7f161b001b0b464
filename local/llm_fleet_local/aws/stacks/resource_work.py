"""Work on one resource: calls the provider, adds events, updates the record.

Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-updating-stacks-update-behaviors.html
(2026-11)
"""

import logging
import traceback
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from llm_fleet_local.aws.resource_provider import (
    Created,
    NothingChanged,
    ReplacementNeeded,
    Request,
    ResourceFailed,
    ResourceProvider,
)
from llm_fleet_local.aws.stacks.stack import Stack, StackResource
from llm_fleet_local.aws.template.document import Declaration
from llm_fleet_local.aws.template.dynamic import resolve_dynamic
from llm_fleet_local.aws.template.lookups import Lookups
from llm_fleet_local.aws.template.policies import notes_on_creation, notes_on_update
from llm_fleet_local.aws.template.values import TemplateError

_Result = TypeVar("_Result")
_LOG = logging.getLogger(__name__)


class ResourceWork:
    """Creates, updates and deletes the resources of one stack."""

    def __init__(self, *, stack: Stack, provider: ResourceProvider, lookups: Lookups) -> None:
        """Manage the resources of `stack`."""
        self._stack = stack
        self._provider = provider
        self._lookups = lookups

    def create(
        self,
        declaration: Declaration,
        properties: Mapping[str, Any],
        *,
        needs: tuple[str, ...],
        tags: Mapping[str, str],
    ) -> StackResource:
        """Create a resource and return its record. Raises `ResourceFailed`."""
        resource = _record(declaration, properties, needs=needs, tags=tags)
        return self._apply(
            resource, "CREATE", self._provider.create, notes=notes_on_creation(declaration.creation_policy)
        )

    def update(
        self,
        existing: StackResource,
        declaration: Declaration,
        properties: Mapping[str, Any],
        *,
        needs: tuple[str, ...],
        tags: Mapping[str, str],
    ) -> StackResource:
        """Change a resource in place and return its new record. Raises `ReplacementNeeded` or `ResourceFailed`."""
        resource = _record(declaration, properties, needs=needs, tags=tags, physical_id=existing.physical_id)
        notes = notes_on_update(declaration.update_policy)
        return self._apply(resource, "UPDATE", self._provider.update, before=existing, notes=notes)

    def restore(self, before: StackResource, after: StackResource) -> StackResource:
        """Undo an update in place: from `after` back to `before`. Raises `ResourceFailed`.

        Source: emulation, undoing a change in place never requires replacement, except by an error of the emulator
        """
        self._report(after, "UPDATE_IN_PROGRESS")
        try:
            created = self._call(self._provider.update, self._request(before, before=after, restoring=True))
        except ReplacementNeeded:
            raise ResourceFailed(f"{before.logical_id} cannot be changed back in place") from None
        self._take(before, created)
        self._report(before, "UPDATE_COMPLETE")
        return before

    def delete(self, resource: StackResource) -> None:
        """Delete a resource. Raises `ResourceFailed`.

        Source: recorded localstack/localstack api/test_stacks test_blocked_stack_deletion (2023-09-06)
        """
        self._report(resource, "DELETE_IN_PROGRESS")
        try:
            self._call(self._provider.delete, self._request(resource))
        except ResourceFailed as failure:
            self._report(resource, "DELETE_FAILED", str(failure))
            raise
        self._report(resource, "DELETE_COMPLETE")

    def skip_delete(self, resource: StackResource) -> None:
        """Add the event for a retained resource."""
        self._report(resource, "DELETE_SKIPPED")

    def _apply(
        self,
        resource: StackResource,
        verb: str,
        act: Callable[[Request], Created],
        *,
        before: StackResource | None = None,
        notes: tuple[str, ...] = (),
    ) -> StackResource:
        """Call the provider for one resource and add an event with the result.

        Source: recorded localstack/localstack test_change_set_ref
        test_immutable_property_update_causes_resource_replacement (2025-04-08)
        """
        self._report(resource, f"{verb}_IN_PROGRESS")
        try:
            resource.given = resolve_dynamic(resource.properties, region=self._stack.region, lookups=self._lookups)
            self._take(resource, self._call(act, self._request(resource, before=before)))
            resource.notes = (*resource.notes, *notes)
        except ReplacementNeeded:
            self._report(
                resource,
                "UPDATE_IN_PROGRESS",
                "Requested update requires the creation of a new physical resource; hence creating one.",
            )
            raise
        except (ResourceFailed, TemplateError) as failure:
            self._report(resource, f"{verb}_FAILED", str(failure))
            untouched = isinstance(failure, NothingChanged | TemplateError)
            raise (NothingChanged if untouched else ResourceFailed)(str(failure)) from failure
        self._report(resource, f"{verb}_COMPLETE", "; ".join((f"level: {resource.level.value}", *resource.notes)))
        return resource

    def _call(self, act: Callable[[Request], _Result], request: Request) -> _Result:
        """Call the provider. An unexpected exception fails the resource, with its last lines as the reason.

        Source: emulation, an error of the emulator
        """
        try:
            return act(request)
        except (ResourceFailed, ReplacementNeeded):
            raise
        except Exception as error:
            _LOG.exception("%s of %s", getattr(act, "__name__", "call"), request.logical_id)
            last = traceback.format_exception_only(error)[-1].strip()
            raise ResourceFailed(f"Internal failure of the AWS emulator: {last}") from error

    def _request(
        self, resource: StackResource, *, before: StackResource | None = None, restoring: bool = False
    ) -> Request:
        return Request(
            resource_type=resource.resource_type,
            logical_id=resource.logical_id,
            properties=resource.given,
            stack_name=self._stack.name,
            stack_id=self._stack.stack_id,
            region=self._stack.region,
            account=self._stack.account,
            old_properties=before.given if before else None,
            physical_id=resource.physical_id or None,
            tags=self._all_tags(resource),
            old_tags=self._all_tags(before) if before else None,
            restoring=restoring,
        )

    def _all_tags(self, resource: StackResource) -> dict[str, str]:
        return {
            **resource.tags,
            "aws:cloudformation:stack-name": self._stack.name,
            "aws:cloudformation:stack-id": self._stack.stack_id,
            "aws:cloudformation:logical-id": resource.logical_id,
        }

    def _take(self, resource: StackResource, created: Created) -> None:
        resource.physical_id = created.physical_id
        resource.attributes = created.attributes
        resource.level = created.level
        resource.notes = created.notes

    def _report(self, resource: StackResource, status: str, reason: str | None = None) -> None:
        resource.status = status
        resource.reason = reason
        resource.changed = datetime.now(UTC)
        self._stack.add_event(resource.logical_id, resource.physical_id, resource.resource_type, status, reason)


def _record(
    declaration: Declaration,
    properties: Mapping[str, Any],
    *,
    needs: tuple[str, ...],
    tags: Mapping[str, str],
    physical_id: str = "",
) -> StackResource:
    """Return the stack's record of a resource that will be created, or changed under its `physical_id`."""
    return StackResource(
        logical_id=declaration.logical_id,
        resource_type=declaration.resource_type,
        properties=properties,
        given=properties,
        tags=tags,
        needs=needs,
        deletion_policy=declaration.deletion_policy,
        update_replace_policy=declaration.update_replace_policy,
        metadata=declaration.metadata,
        physical_id=physical_id,
    )
