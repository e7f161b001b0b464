"""Deletes several resources, each before those that it uses; retained ones are kept.

Source: assumption cloudformation-deletes-what-it-can
"""

from collections.abc import Callable, Collection, Iterable
from graphlib import TopologicalSorter

from llm_fleet_local.aws.resource_provider import ResourceFailed
from llm_fleet_local.aws.stacks.resource_work import ResourceWork
from llm_fleet_local.aws.stacks.stack import StackResource


def keep_on_delete(resource: StackResource) -> bool:
    """Return whether a resource is retained when its stack is deleted."""
    return resource.deletion_policy in ("Retain", "RetainExceptOnCreate")


def keep_on_failed_creation(resource: StackResource) -> bool:
    """Return whether a new resource (no replacement) is retained when the operation that created it is rolled back."""
    return resource.deletion_policy == "Retain"


def keep_on_replacement(resource: StackResource) -> bool:
    """Return whether a replaced resource is retained, and the new copy when the replacement is rolled back.

    Source: assumption cloudformation-keeps-the-new-copy-of-a-refused-replacement
    """
    return resource.update_replace_policy in ("Retain", "RetainExceptOnCreate")


def remove(
    resources: Collection[StackResource], *, keep: Callable[[StackResource], bool], work: ResourceWork
) -> list[StackResource]:
    """Delete `resources` in reverse order of their dependencies; return those that could not be deleted.

    After a failure the others are deleted, except dependencies of the failed one.
    """
    failed: list[StackResource] = []
    blocked: set[str] = set()
    for resource in reversed(_in_order(resources)):
        if not resource.physical_id:
            continue
        if keep(resource):
            work.skip_delete(resource)
        elif resource.logical_id in blocked:
            failed.append(resource)
            blocked.update(resource.needs)
        else:
            try:
                work.delete(resource)
            except ResourceFailed:
                failed.append(resource)
                blocked.update(resource.needs)
    return failed


def _in_order(resources: Iterable[StackResource]) -> list[StackResource]:
    by_name = {resource.logical_id: resource for resource in resources}
    needs = {name: [need for need in resource.needs if need in by_name] for name, resource in by_name.items()}
    return [by_name[name] for name in TopologicalSorter(needs).static_order()]
