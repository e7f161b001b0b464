"""Creating, finding, deleting and executing change sets."""

from typing import Any

from llm_fleet_local.aws.stacks.change_set import NO_CHANGES, ChangeSet
from llm_fleet_local.aws.stacks.definition import NOTHING
from llm_fleet_local.aws.stacks.engine import CloudFormation
from llm_fleet_local.aws.stacks.errors import RequestRejected, invalid, no_change_set, no_stack, no_stack_called
from llm_fleet_local.aws.stacks.proposal import Proposal
from llm_fleet_local.aws.stacks.stack import Stack
from llm_fleet_local.aws.template.finding import TemplateRejected


def create_change_set(
    engine: CloudFormation,
    region: str,
    stack_name: str,
    name: str,
    proposal: Proposal,
    *,
    kind: str,
    description: str | None = None,
    on_stack_failure: str | None = None,
    include_nested: bool = False,
    deployment_config: dict[str, Any] | None = None,
) -> tuple[Stack, ChangeSet]:
    """Plan an operation. A rejected template gives a FAILED change set with the errors as findings.

    Raises `RequestRejected`, or `TemplateError` for a template that cannot be read at all.

    Source: model botocore cloudformation CreateChangeSet
    Source: model botocore cloudformation AlreadyExistsException
    """
    stack = engine.registry.find(region, stack_name)
    _check_kind(engine, stack, stack_name, name, kind)
    stack = stack or engine.new_stack(region, stack_name)
    change_set = ChangeSet(
        name=name,
        change_set_id=engine.arn(region, "changeSet", name),
        kind=kind,
        target=NOTHING,
        description=description,
        on_stack_failure=on_stack_failure,
        include_nested=include_nested,
        deployment_config=deployment_config,
    )
    _plan(engine, stack, change_set, proposal)
    with engine.registry.lock:
        if name in stack.change_sets:
            raise RequestRejected("AlreadyExistsException", f"ChangeSet [{name}] already exists")
        if not stack.events:
            if engine.registry.find(region, stack_name):
                raise RequestRejected("AlreadyExistsException", f"Stack [{stack_name}] already exists")
            engine.registry.add(stack)
            stack.begin("REVIEW_IN_PROGRESS", reason="User Initiated")
        stack.change_sets[name] = change_set
    return stack, change_set


def find_change_set(
    engine: CloudFormation, region: str, name_or_id: str, stack_name: str | None
) -> tuple[Stack, ChangeSet]:
    """Return a change set by name and stack, or by id alone. Raises `RequestRejected`.

    Source: recorded localstack/localstack api/test_changesets test_delete_change_set_exception (2025-07-21),
    test_describe_change_set_nonexisting (2025-03-11), test_deleted_changeset (2022-08-11)
    """
    if not stack_name and not name_or_id.startswith("arn:"):
        raise invalid("StackName must be specified if ChangeSetName is not specified as an ARN.")
    stacks = [engine.get(region, stack_name, absent=no_stack_called)] if stack_name else engine.registry.all(region)
    for stack in stacks:
        for change_set in list(stack.change_sets.values()):
            if name_or_id in (change_set.name, change_set.change_set_id):
                return stack, change_set
    raise no_change_set(name_or_id)


def delete_change_set(engine: CloudFormation, region: str, name_or_id: str, stack_name: str | None) -> None:
    """Delete a change set; a missing one is no error, as on AWS.

    Source: model botocore cloudformation DeleteChangeSet
    Source: model botocore cloudformation InvalidChangeSetStatusException
    """
    try:
        stack, change_set = find_change_set(engine, region, name_or_id, stack_name)
    except RequestRejected as rejected:
        if rejected.code == "ChangeSetNotFound":
            return
        raise
    if change_set.execution_status == "EXECUTE_IN_PROGRESS":
        raise RequestRejected("InvalidChangeSetStatus", f"ChangeSet [{name_or_id}] is being executed")
    stack.change_sets.pop(change_set.name, None)


def execute_change_set(
    engine: CloudFormation,
    region: str,
    name_or_id: str,
    stack_name: str | None,
    *,
    disable_rollback: bool = False,
    token: str | None = None,
) -> None:
    """Start the planned operation. All other change sets of the stack are deleted, because they are outdated.

    Source: model botocore cloudformation InvalidChangeSetStatusException ("the stack status might be
    UPDATE_IN_PROGRESS")
    Source: recorded localstack/localstack api/test_changesets test_empty_changeset (2022-08-10)
    """
    stack, change_set = find_change_set(engine, region, name_or_id, stack_name)
    with engine.registry.lock:
        if change_set.execution_status != "AVAILABLE":
            raise RequestRejected(
                "InvalidChangeSetStatus",
                f"ChangeSet [{change_set.change_set_id}] cannot be executed in its current status of "
                f"[{change_set.status}] and execution status of [{change_set.execution_status}]",
            )
        if change_set.kind == "UPDATE":
            engine.check_updatable(stack, code="InvalidChangeSetStatus")
        stack.change_sets = {change_set.name: change_set}
        change_set.execution_status = "EXECUTE_COMPLETE"
        stack.begin(f"{change_set.kind}_IN_PROGRESS", token=token, reason="User Initiated")
    if change_set.kind == "UPDATE":
        engine.start_update(stack, change_set.target, rollback=not disable_rollback)
        return
    on_failure = "DO_NOTHING" if disable_rollback else change_set.on_stack_failure or "ROLLBACK"
    engine.start_creation(stack, change_set.target, on_failure=on_failure)


def _check_kind(engine: CloudFormation, stack: Stack | None, stack_name: str, name: str, kind: str) -> None:
    """Reject a change set type that does not match the stack.

    Source: model botocore cloudformation ChangeSetType
    Source: recorded localstack/localstack api/test_changesets test_name_conflicts (2023-11-22)
    Source: emulation, nothing is imported here
    """
    if kind not in ("CREATE", "UPDATE"):
        raise invalid(f"ChangeSetType {kind} is not supported by the AWS emulator; allowed: CREATE, UPDATE")
    if kind == "CREATE":
        if stack is not None and stack.status != "REVIEW_IN_PROGRESS":
            raise invalid(
                f"Stack [{stack_name}] already exists and cannot be created again with the changeSet [{name}]."
            )
        return
    if stack is None:
        raise no_stack(stack_name)
    engine.check_updatable(stack)


def _plan(engine: CloudFormation, stack: Stack, change_set: ChangeSet, proposal: Proposal) -> None:
    try:
        change_set.target = engine.define(stack, proposal)
        change_set.changes, differs = engine.changes(stack, change_set.target)
    except TemplateRejected as rejected:
        change_set.findings = rejected.findings
        # The CDK CLI queries the findings with DescribeEvents if it reads this name.
        _fail(change_set, f"The following hook(s)/validation failed: [AWS::EarlyValidation]. {rejected}")
        return
    if change_set.kind == "UPDATE" and not differs:
        _fail(change_set, NO_CHANGES)


def _fail(change_set: ChangeSet, reason: str) -> None:
    change_set.status = "FAILED"
    change_set.execution_status = "UNAVAILABLE"
    change_set.reason = reason
