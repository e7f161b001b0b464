"""The engine's interface: takes requests on stacks and runs operations in worker threads.

Source: model botocore cloudformation UpdateTerminationProtection
"""

import logging
import re
import uuid
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from threading import Thread

from llm_fleet_local.aws.resource_provider import ResourceProvider
from llm_fleet_local.aws.stacks.change_set import Change
from llm_fleet_local.aws.stacks.definition import NOTHING, Definition
from llm_fleet_local.aws.stacks.deletion import delete_stack
from llm_fleet_local.aws.stacks.deployment import Deployment
from llm_fleet_local.aws.stacks.errors import RequestRejected, invalid, no_stack
from llm_fleet_local.aws.stacks.planner import outputs_change, plan
from llm_fleet_local.aws.stacks.proposal import Proposal, define
from llm_fleet_local.aws.stacks.registry import Registry
from llm_fleet_local.aws.stacks.scope import StackScope, partition_of
from llm_fleet_local.aws.stacks.stack import Stack
from llm_fleet_local.aws.template.lookups import Lookups

_LOG = logging.getLogger(__name__)
_STACK_NAME = re.compile(r"[a-zA-Z][-a-zA-Z0-9]{0,127}")
_UPDATABLE = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "CREATE_FAILED", "UPDATE_FAILED")


class CloudFormation:
    """Stacks of one account in any Region. Thread-safe."""

    def __init__(
        self,
        provider: Callable[["CloudFormation"], ResourceProvider],
        lookups: Lookups,
        *,
        account: str,
        acting_as: Callable[[str | None], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Use the resource provider that `provider` returns for this engine, which also runs nested stacks.

        `lookups` reads the values that templates use from other services. `acting_as` returns the context in which
        a stack with this service role is created, changed or deleted.
        """
        self.provider = provider(self)
        self.lookups = lookups
        self.account = account
        self.registry = Registry()
        self._workers: dict[str, Thread] = {}
        self._acting_as = acting_as

    def get(self, region: str, name_or_id: str, *, absent: Callable[[str], RequestRejected] = no_stack) -> Stack:
        """Return a stack. If it is missing, raises the error of `absent`, whose text differs between operations.

        Source: recorded localstack/localstack api/test_stacks test_non_existing_stack_message (2025-07-21)
        """
        stack = self.registry.find(region, name_or_id)
        if stack is None:
            raise absent(name_or_id)
        return stack

    def new_stack(self, region: str, name: str) -> Stack:
        """Return a new stack that is not registered and has no operation.

        Source: model botocore cloudformation CreateStackInput (128 characters)
        Source: recorded localstack/localstack api/test_stacks test_stack_name_creation (2023-04-19)
        """
        if not _STACK_NAME.fullmatch(name):
            raise invalid(
                f"1 validation error detected: Value '{name}' at 'stackName' failed to satisfy constraint: Member must "
                f"satisfy regular expression pattern: {_STACK_NAME.pattern}"
            )
        return Stack(
            name=name,
            region=region,
            account=self.account,
            stack_id=self.arn(region, "stack", name),
            definition=NOTHING,
        )

    def arn(self, region: str, kind: str, name: str) -> str:
        """Return a new ARN of a stack or a change set, ending in a GUID."""
        partition, _ = partition_of(region)
        return f"arn:{partition}:cloudformation:{region}:{self.account}:{kind}/{name}/{uuid.uuid4()}"

    def define(self, stack: Stack, proposal: Proposal) -> Definition:
        """Return the checked definition of `stack`. Raises `TemplateError`."""
        with self._acting_as(proposal.role_arn or stack.definition.role_arn):
            return define(proposal, stack, provider=self.provider, registry=self.registry, lookups=self.lookups)

    def changes(self, stack: Stack, target: Definition) -> tuple[tuple[Change, ...], bool]:
        """Return the changes of resources, and whether anything would change. Raises `TemplateError`."""
        scope = StackScope(
            stack=stack,
            template=target.live.template,
            registry=self.registry,
            lookups=self.lookups,
            parameters=target.parameters,
            conditions=target.conditions,
            notification_arns=target.notification_arns,
            resources=stack.resources,
        )
        changes = plan(stack, target, scope, self.provider)
        tags_differ = dict(stack.definition.tags) != dict(target.tags)
        return changes, bool(changes) or tags_differ or outputs_change(stack, target, scope)

    def create_stack(
        self,
        region: str,
        name: str,
        proposal: Proposal,
        *,
        on_failure: str = "ROLLBACK",
        termination_protection: bool = False,
        token: str | None = None,
        parent: Stack | None = None,
        in_background: bool = True,
    ) -> Stack:
        """Start creating a stack. Raises `TemplateError` or `RequestRejected` before anything is created.

        Source: model botocore cloudformation AlreadyExistsException
        Source: recorded localstack/localstack api/test_stacks test_name_conflicts (2024-03-26)
        """
        stack = self.new_stack(region, name)
        target = self.define(stack, proposal)
        self.changes(stack, target)  # reports values that cannot be evaluated before anything is created
        stack.termination_protection = termination_protection
        if parent is not None:
            stack.parent_id = parent.stack_id
            stack.root_id = parent.root_id or parent.stack_id
        with self.registry.lock:
            if self.registry.find(region, name):
                raise RequestRejected("AlreadyExistsException", f"Stack [{name}] already exists")
            self.registry.add(stack)
            stack.begin("CREATE_IN_PROGRESS", token=token, reason="User Initiated")
        self.start_creation(stack, target, on_failure=on_failure, in_background=in_background)
        return stack

    def update_stack(
        self,
        region: str,
        name_or_id: str,
        proposal: Proposal,
        *,
        rollback: bool = True,
        token: str | None = None,
        in_background: bool = True,
    ) -> bool:
        """Start updating a stack; return False, and start nothing, if nothing would change."""
        stack = self.get(region, name_or_id)
        target = self.define(stack, proposal)
        _, differs = self.changes(stack, target)
        if not differs:
            return False
        with self.registry.lock:
            self.check_updatable(stack)
            stack.begin("UPDATE_IN_PROGRESS", token=token, reason="User Initiated")
        self.start_update(stack, target, rollback=rollback, in_background=in_background)
        return True

    def delete_stack(
        self,
        region: str,
        name_or_id: str,
        *,
        retain: Collection[str] = (),
        force: bool = False,
        token: str | None = None,
        in_background: bool = True,
    ) -> None:
        """Start deleting a stack; a missing or deleted one is no error. `force`: keep resources that cannot be deleted.

        Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-protect-stacks.html:
        with termination protection "the deletion fails and the stack, including its status, remains unchanged"
        Source: model botocore cloudformation DeletionMode (for a stack in DELETE_FAILED)
        Source: model botocore cloudformation RetainResources (for a stack in DELETE_FAILED)
        """
        stack = self.registry.find(region, name_or_id)
        if stack is None or stack.status == "DELETE_COMPLETE":
            return
        with self.registry.lock:
            if stack.termination_protection:
                raise invalid(f"Stack [{stack.name}] cannot be deleted while TerminationProtection is enabled")
            if stack.in_progress:
                raise invalid(f"Stack:{stack.stack_id} is in {stack.status} state and can not be deleted.")
            if (retain or force) and stack.status != "DELETE_FAILED":
                name = "RetainResources" if retain else "DeletionMode"
                raise invalid(f"Invalid operation on a stack that is not in DELETE_FAILED: {name}")
            stack.begin("DELETE_IN_PROGRESS", token=token, reason="User Initiated")
        self._run(
            stack,
            lambda: delete_stack(
                stack,
                provider=self.provider,
                registry=self.registry,
                lookups=self.lookups,
                retain=retain,
                force=force,
            ),
            in_background=in_background,
            role_arn=stack.definition.role_arn,
        )

    def check_updatable(self, stack: Stack, *, code: str = "ValidationError") -> None:
        """Raise `RequestRejected` if no update can start now.

        Source: recorded localstack/localstack api/test_changesets test_changeset_for_deleted_stack (2025-10-10)
        Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/stack-failure-options.html:
        one can "troubleshoot resources in a CREATE_FAILED or UPDATE_FAILED status, and then resume provisioning"
        """
        if stack.status not in _UPDATABLE:
            raise RequestRejected(code, f"Stack:{stack.stack_id} is in {stack.status} state and can not be updated.")

    def start_creation(
        self, stack: Stack, target: Definition, *, on_failure: str = "ROLLBACK", in_background: bool = True
    ) -> None:
        """Run the creation of a stack whose status is already set."""
        stack.disable_rollback = on_failure == "DO_NOTHING"
        stack.acknowledged = target.capabilities
        stack.definition = target  # shown during creation, and after a failed one
        work = self._deployment(stack, target)
        self._run(
            stack, lambda: work.create(on_failure=on_failure), in_background=in_background, role_arn=target.role_arn
        )

    def start_update(
        self, stack: Stack, target: Definition, *, rollback: bool = True, in_background: bool = True
    ) -> None:
        """Run the update of a stack whose status is already set."""
        stack.disable_rollback = not rollback
        stack.acknowledged = target.capabilities
        work = self._deployment(stack, target)
        self._run(stack, lambda: work.update(rollback=rollback), in_background=in_background, role_arn=target.role_arn)

    def wait(self, stack: Stack) -> Stack:
        """Wait until no operation runs on `stack`."""
        worker = self._workers.get(stack.stack_id)
        if worker is not None:
            worker.join()
        return stack

    def _deployment(self, stack: Stack, target: Definition) -> Deployment:
        return Deployment(
            stack=stack, target=target, provider=self.provider, registry=self.registry, lookups=self.lookups
        )

    def _run(self, stack: Stack, work: Callable[[], None], *, in_background: bool, role_arn: str | None = None) -> None:
        """Run `work` with the role of the stack; for a nested stack, of the stack around it."""

        def guarded() -> None:
            try:
                with self._acting_as(role_arn):
                    work()
            except Exception as error:
                _LOG.exception("operation on %s", stack.name)
                failed = stack.status.split("_IN_PROGRESS")[0].removesuffix("_CLEANUP").removesuffix("_COMPLETE")
                stack.set_status(f"{failed}_FAILED", f"Internal failure of the AWS emulator: {error!r}")

        if not in_background:
            guarded()
            return
        worker = Thread(target=guarded, name=f"stack-{stack.name}", daemon=True)
        self._workers[stack.stack_id] = worker
        worker.start()
