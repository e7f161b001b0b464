"""Deleting a stack.

Source: model botocore cloudformation DeleteStack
"""

from collections.abc import Collection
from datetime import UTC, datetime

from llm_fleet_local.aws.resource_provider import ResourceProvider
from llm_fleet_local.aws.stacks.outputs import check_exports
from llm_fleet_local.aws.stacks.registry import Registry
from llm_fleet_local.aws.stacks.removal import keep_on_delete, remove
from llm_fleet_local.aws.stacks.resource_work import ResourceWork
from llm_fleet_local.aws.stacks.stack import Stack
from llm_fleet_local.aws.template.lookups import Lookups
from llm_fleet_local.aws.template.values import TemplateError


def delete_stack(
    stack: Stack,
    *,
    provider: ResourceProvider,
    registry: Registry,
    lookups: Lookups,
    retain: Collection[str] = (),
    force: bool = False,
) -> None:
    """Delete a stack's resources, except those with a retaining policy or named in `retain`.

    The stack ends as DELETE_COMPLETE, or as DELETE_FAILED with the resources that could not be deleted; `force` retains
    these.

    Source: model botocore cloudformation DeleteStack (DeletionMode)
    """
    try:
        with registry.lock:
            check_exports(stack, (), registry)
    except TemplateError as error:
        stack.set_status("DELETE_FAILED", str(error))
        return
    work = ResourceWork(stack=stack, provider=provider, lookups=lookups)
    left = remove(
        list(stack.resources.values()),
        keep=lambda resource: resource.logical_id in retain or keep_on_delete(resource),
        work=work,
    )
    names = {resource.logical_id for resource in left}
    for logical_id in [name for name in stack.resources if name not in names]:
        del stack.resources[logical_id]
    if left and not force:
        reason = f"The following resource(s) failed to delete: [{', '.join(sorted(names))}]."
        stack.set_status("DELETE_FAILED", reason)
        return
    stack.deleted = datetime.now(UTC)
    with registry.lock:
        stack.outputs = ()
        stack.imports = frozenset()
    stack.set_status("DELETE_COMPLETE")
