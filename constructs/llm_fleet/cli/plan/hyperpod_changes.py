"""What becomes of the instance groups of HyperPod clusters."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from llm_fleet.cli.plan.stack_template import StackTemplate
from llm_fleet.rules.day_two.plan_codes import PlanCode

_TYPE = "AWS::SageMaker::Cluster"
_COUNT = "InstanceCount"
_FIXED = ("OverrideVpcConfig", "SlurmConfig.NodeType")
"""assumption: hyperpod-refuses-change-of-group-network-and-node-type
That of the type is assumption: hyperpod-refuses-change-of-instance-type"""
_OF_RUNNING_NODES = ("ImageId", "InstanceRequirements", "InstanceStorageConfigs", "ThreadsPerCore")
"""What nodes have from their making; assumption: hyperpod-changes-groups-in-place"""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChange:
    """What an update does to one instance group."""

    stack: str
    """The stack that has the cluster."""
    group: str
    what: str
    """In words."""
    refused: bool = False
    """Whether HyperPod refuses it."""
    code: str | None = None
    """A `PlanCode` where jobs end or HyperPod refuses."""


def hyperpod_changes(old: StackTemplate, new: StackTemplate) -> tuple[GroupChange, ...]:
    """Return what becomes of the groups of every cluster that is in both templates."""
    return tuple(
        change
        for logical_id, resource in new.resources.items()
        if resource.get("Type") == _TYPE and logical_id in old.resources
        for change in (
            *_provisioning(new.name, old.resources[logical_id], resource),
            *_of_cluster(new.name, _groups(old.resources[logical_id]), _groups(resource)),
        )
    )


def _provisioning(stack: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[GroupChange]:
    """Warn of another mode of a cluster that runs; assumption: hyperpod-changes-provisioning-mode"""
    before, after = (_at(one, "Properties.NodeProvisioningMode") or "none" for one in (old, new))
    if before != after:
        what = f"NodeProvisioningMode from {before} to {after}: HyperPod may refuse it on a running cluster; another "
        what += "cluster name is safe"
        yield GroupChange(stack=stack, group="all groups", what=what, code=PlanCode.REFUSED.value)


def _of_cluster(stack: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[GroupChange]:
    for name, group in new.items():
        if name not in old:
            yield GroupChange(stack=stack, group=name, what=f"added, with {_count(group)}")
            continue
        yield from _resized(stack, name, old[name], group)
        for key in _FIXED:
            if _at(old[name], key) != _at(group, key):
                what = f"{key} cannot change in place: give the group another name, and it is made anew"
                code = PlanCode.REFUSED.value
                yield GroupChange(stack=stack, group=name, what=what, refused=True, code=code)
        changed = [key for key in _OF_RUNNING_NODES if _at(old[name], key) != _at(group, key)]
        if changed:
            what = f"{', '.join(changed)} changes: HyperPod may refuse it, leave running nodes as they are, or replace "
            what += "them, with their jobs and what lies on their disks; another group name is safe"
            yield GroupChange(stack=stack, group=name, what=what, code=PlanCode.JOBS.value)
        if _at(old[name], "InstanceType") != _at(group, "InstanceType"):
            one, two = _at(old[name], "InstanceType"), _at(group, "InstanceType")
            what = (
                f"type from {one} to {two}: HyperPod may refuse it in place, or replace nodes that run jobs; another "
            )
            what += "name is safe"
            yield GroupChange(stack=stack, group=name, what=what, code=PlanCode.JOBS.value)
    for name in old:
        if name not in new:
            what = "removed, with its nodes, the jobs on them and what lies on their disks"
            yield GroupChange(stack=stack, group=name, what=what, code=PlanCode.JOBS.value)


def _resized(stack: str, name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[GroupChange]:
    before, after = old.get(_COUNT), new.get(_COUNT)
    if before == after:
        return
    what = f"from {_count(old)} to {_count(new)}"
    if isinstance(before, int) and isinstance(after, int) and after < before:
        what += (
            ": HyperPod chooses the nodes that go, and jobs on them end; to choose them yourself, call "
            "BatchDeleteClusterNodes first"
        )
        yield GroupChange(stack=stack, group=name, what=what, code=PlanCode.JOBS.value)
    else:
        yield GroupChange(stack=stack, group=name, what=what)


def _groups(resource: Mapping[str, Any]) -> dict[str, Any]:
    found = resource.get("Properties", {}).get("InstanceGroups", [])
    groups = cast("list[Any]", found) if isinstance(found, list) else []
    return {str(group.get("InstanceGroupName")): group for group in groups if isinstance(group, dict)}  # pyright: ignore


def _count(group: Mapping[str, Any]) -> str:
    count = group.get(_COUNT)
    return f"{count} node{'' if count == 1 else 's'}"


def _at(group: Any, path: str) -> Any:
    for key in path.split("."):
        group = group.get(key) if isinstance(group, Mapping) else None  # pyright: ignore
    return group  # pyright: ignore
