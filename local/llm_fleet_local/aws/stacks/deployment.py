"""One creation or update of a stack: all resources, then the clean-up, or the rollback.

Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-updating-stacks-update-behaviors.html
(2026-11)
Source: assumption cloudformation-deletes-what-it-can
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from llm_fleet_local.aws.resource_provider import NothingChanged, ReplacementNeeded, ResourceFailed, ResourceProvider
from llm_fleet_local.aws.stacks.definition import Definition
from llm_fleet_local.aws.stacks.outputs import check_exports, evaluate_outputs
from llm_fleet_local.aws.stacks.registry import Registry
from llm_fleet_local.aws.stacks.removal import keep_on_delete, keep_on_failed_creation, keep_on_replacement, remove
from llm_fleet_local.aws.stacks.resource_work import ResourceWork
from llm_fleet_local.aws.stacks.scope import StackScope
from llm_fleet_local.aws.stacks.stack import Stack, StackResource
from llm_fleet_local.aws.template.functions import evaluate
from llm_fleet_local.aws.template.lookups import Lookups
from llm_fleet_local.aws.template.values import TemplateError

_LOG = logging.getLogger(__name__)


class DeploymentFailed(Exception):
    """The operation failed; the message becomes the stack's status reason."""


@dataclass(frozen=True, slots=True)
class Step:
    """A completed change of one resource; `before` is `None` for a new one. A change in place keeps the id."""

    before: StackResource | None
    after: StackResource

    @property
    def made_new(self) -> bool:
        """Whether a physical resource was created."""
        return self.before is None or self.before.physical_id != self.after.physical_id


class Deployment:
    """Deploys a definition of a stack. Runs once, in the calling thread."""

    def __init__(
        self, *, stack: Stack, target: Definition, provider: ResourceProvider, registry: Registry, lookups: Lookups
    ) -> None:
        """Prepare; nothing happens yet."""
        self._stack = stack
        self._target = target
        self._registry = registry
        self._work = ResourceWork(stack=stack, provider=provider, lookups=lookups)
        self._steps: list[Step] = []
        self._rollback = True
        self._scope = StackScope(
            stack=stack,
            template=target.live.template,
            registry=registry,
            lookups=lookups,
            parameters=target.parameters,
            conditions=target.conditions,
            notification_arns=target.notification_arns,
            resources=stack.resources,
        )

    def create(self, *, on_failure: str = "ROLLBACK") -> None:
        """Create all resources; `on_failure` is `ROLLBACK`, `DELETE` or `DO_NOTHING`. The status shows the result."""
        try:
            self._apply_all()
            self._finish()
        except DeploymentFailed as failure:
            self._undo_creation(on_failure, str(failure))
            return
        self._stack.set_status("CREATE_COMPLETE")

    def update(self, *, rollback: bool = True) -> None:
        """Change what differs, then delete removed resources; on failure roll back, unless that is disabled."""
        before = dict(self._stack.resources)
        self._rollback = rollback
        try:
            self._apply_all()
            self._finish()
        except DeploymentFailed as failure:
            if rollback:
                self._undo_update(before, str(failure))
            else:
                self._stack.set_status("UPDATE_FAILED", str(failure))
            return
        self._stack.set_status("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")
        self._clean_up()
        self._stack.updated = datetime.now(UTC)
        self._stack.set_status("UPDATE_COMPLETE")

    def _apply_all(self) -> None:
        for logical_id in self._target.live.order:
            try:
                self._apply(logical_id)
            except (ResourceFailed, TemplateError) as failure:
                _LOG.info("%s: %s failed: %s", self._stack.name, logical_id, failure)
                verb = "update" if logical_id in self._stack.resources else "create"
                raise DeploymentFailed(f"The following resource(s) failed to {verb}: [{logical_id}].") from failure

    def _apply(self, logical_id: str) -> None:
        declaration = self._target.live.resources[logical_id]
        existing = self._stack.resources.get(logical_id)
        try:
            properties = evaluate(declaration.properties, self._scope)
        except TemplateError as error:
            verb = "UPDATE" if existing else "CREATE"
            self._stack.add_event(logical_id, "", declaration.resource_type, f"{verb}_FAILED", str(error))
            raise
        if existing is None or not existing.physical_id:
            self._create(logical_id, properties, before=None)
        elif existing.properties == properties and dict(existing.tags) == dict(self._target.tags):
            kept = replace(
                existing,
                needs=self._target.live.needs[logical_id],
                deletion_policy=declaration.deletion_policy,
                update_replace_policy=declaration.update_replace_policy,
                metadata=declaration.metadata,
            )
            self._stack.resources[logical_id] = kept
        else:
            self._update(existing, properties)

    def _create(self, logical_id: str, properties: Mapping[str, Any], *, before: StackResource | None) -> None:
        declaration = self._target.live.resources[logical_id]
        needs = self._target.live.needs[logical_id]
        created = self._work.create(declaration, properties, needs=needs, tags=self._target.tags)
        self._stack.resources[logical_id] = created
        self._steps.append(Step(before, created))

    def _update(self, existing: StackResource, properties: Mapping[str, Any]) -> None:
        logical_id = existing.logical_id
        declaration = self._target.live.resources[logical_id]
        needs = self._target.live.needs[logical_id]
        try:
            updated = self._work.update(existing, declaration, properties, needs=needs, tags=self._target.tags)
        except ReplacementNeeded:
            self._replace(existing, properties)
            return
        except NothingChanged:
            raise
        except ResourceFailed:
            half_way = replace(existing, properties=properties, given=properties, status="UPDATE_FAILED")
            self._stack.resources[logical_id] = half_way
            self._steps.append(Step(existing, half_way))
            raise
        self._stack.resources[logical_id] = updated
        self._steps.append(Step(existing, updated))

    def _replace(self, existing: StackResource, properties: Mapping[str, Any]) -> None:
        if not self._rollback:
            # A replaced resource is deleted only at the end of the update, which can fail before.
            # Source: recorded anomalyco/sst#977, text of the error (2021-10-30)
            # Source: assumption cloudformation-replaces-nothing-without-rollback
            rejection = "Replacement type updates not supported on stack with disable-rollback."
            self._stack.add_event(
                existing.logical_id, existing.physical_id, existing.resource_type, "UPDATE_FAILED", rejection
            )
            raise ResourceFailed(rejection)
        self._create(existing.logical_id, properties, before=existing)

    def _finish(self) -> None:
        """Set the outputs; from here on the stack is in the requested state."""
        try:
            outputs = evaluate_outputs(self._target, self._scope)
            with self._registry.lock:
                check_exports(self._stack, outputs, self._registry)
                self._stack.outputs = outputs
                self._stack.imports = frozenset(self._scope.imports)
                self._stack.definition = self._target
        except TemplateError as error:
            raise DeploymentFailed(str(error)) from error

    def _clean_up(self) -> None:
        """Delete replaced and removed resources; a failed deletion adds an event, and the update still succeeds."""
        replaced = [step.before for step in self._steps if step.before and step.made_new]
        remove(replaced, keep=keep_on_replacement, work=self._work)
        gone = [item for name, item in self._stack.resources.items() if name not in self._target.live.resources]
        remove(gone, keep=keep_on_delete, work=self._work)
        for resource in gone:
            del self._stack.resources[resource.logical_id]

    def _undo_creation(self, on_failure: str, reason: str) -> None:
        if on_failure == "DO_NOTHING":
            self._stack.set_status("CREATE_FAILED", reason)
            return
        failed_first = "DELETE" if on_failure == "DELETE" else "ROLLBACK"
        self._stack.set_status(f"{failed_first}_IN_PROGRESS", reason)
        left = remove([step.after for step in self._steps], keep=keep_on_failed_creation, work=self._work)
        self._stack.resources.clear()
        self._stack.resources.update({resource.logical_id: resource for resource in left})
        if left:
            names = ", ".join(resource.logical_id for resource in left)
            self._stack.set_status(f"{failed_first}_FAILED", f"The following resource(s) failed to delete: [{names}].")
            return
        if on_failure == "DELETE":
            self._stack.deleted = datetime.now(UTC)
        self._stack.set_status(f"{failed_first}_COMPLETE")

    def _undo_update(self, before: Mapping[str, StackResource], reason: str) -> None:
        self._stack.set_status("UPDATE_ROLLBACK_IN_PROGRESS", reason)
        for step in reversed(self._steps):
            if step.before is None or step.made_new:
                continue
            try:
                self._work.restore(step.before, step.after)
            except ResourceFailed as failure:
                self._stack.add_event(
                    step.before.logical_id,
                    step.before.physical_id,
                    step.before.resource_type,
                    "UPDATE_FAILED",
                    str(failure),
                )
                self._stack.set_status(
                    "UPDATE_ROLLBACK_FAILED",
                    f"The following resource(s) failed to update: [{step.before.logical_id}].",
                )
                return
        self._stack.resources.clear()
        self._stack.resources.update(before)
        self._stack.set_status("UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS")
        new = [step.after for step in self._steps if step.made_new]
        copies = {step.after.logical_id for step in self._steps if step.before is not None}
        remove(
            new,
            keep=lambda one: (keep_on_replacement if one.logical_id in copies else keep_on_failed_creation)(one),
            work=self._work,
        )
        self._stack.set_status("UPDATE_ROLLBACK_COMPLETE")
