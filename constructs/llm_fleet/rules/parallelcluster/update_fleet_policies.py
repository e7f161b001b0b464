"""Update policies of queues, of placement and of storage."""

from dataclasses import replace
from typing import Any

from llm_fleet.rules.parallelcluster import update_policies as fixed
from llm_fleet.rules.parallelcluster import update_policies as login
from llm_fleet.rules.parallelcluster.update_changes import (
    Change,
    Circumstances,
    Decision,
    Section,
    Verdict,
    as_list,
    items_at,
    section_at,
)
from llm_fleet.rules.parallelcluster.update_policies import (
    FREE,
    STOP_LOGIN_NODES,
    Policy,
    never,
    replaced,
    stop_fleet,
    stop_login_nodes,
)
from llm_fleet.rules.terms import QueueUpdateStrategy

_DEFAULT_COUNTS = {"MinCount": 0, "MaxCount": 10}
"""Default of ParallelCluster for a missing count (pcluster/constants.py)."""


def by_strategy(change: Change, around: Circumstances) -> bool:
    """Return whether the fleet is stopped, or, in a queue, `QueueUpdateStrategy` replaces its nodes."""
    return not around.fleet_runs or (change.in_queue and around.strategy_replaces)


def replaces_queue(change: Change, around: Circumstances) -> Decision:
    """Return what happens to the nodes of the queue of the change."""
    return replaced(f"queue {change.item_name('SlurmQueues')}", around)


def needs_strategy(change: Change, _around: Circumstances) -> Decision:
    """Return that a strategy must be set or the fleet stopped; outside queues only the latter helps."""
    return stop_fleet(
        "running nodes would not get the change", "write `QueueUpdateStrategy: DRAIN`" if change.in_queue else ""
    )


def _fleet_stopped(_change: Change, around: Circumstances) -> bool:
    return not around.fleet_runs


def _whatever_the_strategy(_change: Change, _around: Circumstances) -> Decision:
    return stop_fleet("ParallelCluster changes it only while the fleet is stopped, regardless of QueueUpdateStrategy")


def _added_or_stopped(change: Change, around: Circumstances) -> bool:
    return not around.fleet_runs or (change.adds_item and _of_queues(change))


def _resized(change: Change, around: Circumstances) -> bool:
    return not around.fleet_runs or _grows(change, around) or (_of_queues(change) and _terminates(around))


def _resize_effect(change: Change, around: Circumstances) -> Decision:
    if _grows(change, around):
        return FREE
    gone: Section = change.old if change.is_item else {}
    name = change.item_name("SlurmQueues") or str(gone.get("Name"))
    return replaced(f"queue {name}", around)


def _resize_refused(change: Change, _around: Circumstances) -> Decision:
    what = "removed nodes" if change.key != "MinCount" else "static nodes instead of dynamic ones"
    alternative = "write `QueueUpdateStrategy: TERMINATE`, which terminates removed nodes and their jobs"
    if change.key == "MinCount":
        alternative = f"increase MaxCount by the same number, or {alternative}"
    return stop_fleet(f"DRAIN is not enough for {what}", alternative)


def _terminates(around: Circumstances) -> bool:
    return around.strategy == QueueUpdateStrategy.TERMINATE


def _of_queues(change: Change) -> bool:
    return change.in_queue or change.key == "SlurmQueues"


def _grows(change: Change, around: Circumstances) -> bool:
    if change.adds_item and _of_queues(change):
        return True
    if change.key == "MaxCount":
        return _growth(change) >= 0
    if change.key != "MinCount":
        return False
    next_to = (other for other in around.changes if other.section == change.section and other.key == "MaxCount")
    return any(_growth(other) >= _growth(change) for other in next_to)


def _growth(change: Change) -> float:
    """The growth of a count; NaN, for which no comparison is true, when one is resolved at deployment."""
    old, new = (_count(value, change.key) for value in (change.old, change.new))
    return new - old


def _count(value: Any, key: str) -> float:
    if value is None:
        return _DEFAULT_COUNTS[key]
    return int(value) if isinstance(value, str) and value.lstrip("-").isdigit() else float("nan")


QUEUE_UPDATE_STRATEGY = Policy(
    name="QUEUE_UPDATE_STRATEGY", allows=by_strategy, effect=replaces_queue, refusal=needs_strategy
)
COMPUTE_FLEET_STOP = Policy(name="COMPUTE_FLEET_STOP", allows=_fleet_stopped, refusal=_whatever_the_strategy)
COMPUTE_FLEET_STOP_ON_REMOVE = Policy(
    name="COMPUTE_FLEET_STOP_ON_REMOVE", allows=_added_or_stopped, refusal=_whatever_the_strategy
)
RESIZE_UPDATE_STRATEGY_ON_REMOVE = Policy(
    name="RESIZE_UPDATE_STRATEGY_ON_REMOVE", allows=_resized, effect=_resize_effect, refusal=_resize_refused
)


HOME_DIRS = ("/home", "home")
"""Spellings of the mount directory of home directories, which cannot be changed."""
_EXISTING = ("VolumeId", "FileSystemId", "FileCacheId")
_LIVE_KINDS = ("Efs", "FsxLustre", "FsxOntap", "FsxOpenZfs", "FileCache")
"""Mounted and unmounted on running nodes (`STORAGE_TYPES_SUPPORTING_LIVE_UPDATES`, pcluster/constants.py)."""


def _storage_allowed(change: Change, around: Circumstances) -> bool:
    if _moves_home(change):
        return False
    if _is_live(change):
        return True
    if not change.is_item and (around.fleet_runs or around.login_nodes_run):
        return False  # ParallelCluster's check of a changed MountDir then fails with an error of its own.
    return not around.login_nodes_run and (not around.fleet_runs or around.strategy_replaces)


def _storage_effect(change: Change, around: Circumstances) -> Decision:
    return FREE if _is_live(change) else replaced("every queue", around)


def _storage_refused(change: Change, around: Circumstances) -> Decision:
    if _moves_home(change):
        return never(change, around)
    if not change.is_item:
        return _mount_moved(change, around)
    reason = "running nodes can mount and unmount only existing EFS and FSx file systems"
    if not around.fleet_runs or around.strategy_replaces:
        return stop_login_nodes(reason)
    reported = stop_fleet(reason, "write `QueueUpdateStrategy: DRAIN`")
    return _with_login_nodes(reported, around)


def _mount_moved(change: Change, around: Circumstances) -> Decision:
    reason = "ParallelCluster cannot change a mount directory while nodes run"
    name = change.item_name("SharedStorage")
    alternative = f"replace {name} by shared storage with another name and the new MountDir"
    if not around.fleet_runs:
        reported = stop_login_nodes(reason)
        return replace(reported, remedy=f"{alternative}, or {reported.remedy}")
    return _with_login_nodes(stop_fleet(reason, alternative), around)


def _with_login_nodes(reported: Decision, around: Circumstances) -> Decision:
    if not around.login_nodes_run:
        return reported
    return replace(reported, remedy=f"{reported.remedy}; for login nodes, too: {STOP_LOGIN_NODES}")


def _moves_home(change: Change) -> bool:
    if change.key == "MountDir":
        return change.old in HOME_DIRS or change.new in HOME_DIRS
    items: list[Section] = [item for item in (change.old, change.new) if item] if change.is_item else []
    return change.key == "SharedStorage" and any(item.get("MountDir") in HOME_DIRS for item in items)


def _is_live(change: Change) -> bool:
    if not change.is_item:
        return False
    item: Section = change.old if change.new is None else change.new
    kind = item.get("StorageType")
    return kind in _LIVE_KINDS and any(key in section_at(item, f"{kind}Settings") for key in _EXISTING)


def _subnets_allowed(change: Change, around: Circumstances) -> bool:
    return not kept_managed_lustre(around) and (by_strategy(change, around) or _only_adds(change))


def _subnets_effect(change: Change, around: Circumstances) -> Decision:
    return FREE if _only_adds(change) else replaces_queue(change, around)


def _subnets_refused(change: Change, around: Circumstances) -> Decision:
    kept = kept_managed_lustre(around)
    if not kept:
        return needs_strategy(change, around)
    return Decision(
        verdict=Verdict.NEEDS_NEW_CLUSTER,
        reason=f"ParallelCluster would create the Lustre file system {', '.join(kept)} again, without its data",
        remedy="keep the subnets; an existing file system, given by its ID, does not have this limit",
    )


def _only_adds(change: Change) -> bool:
    old, new = as_list(change.old), as_list(change.new)
    return change.in_queue and bool(old) and all(value in new for value in old)


def kept_managed_lustre(around: Circumstances) -> list[str]:
    """Return the names of the Lustre file systems that ParallelCluster made and keeps."""
    return sorted(_managed_lustre(around.old) & _managed_lustre(around.new))


def lustre_made_again(around: Circumstances) -> list[str]:
    """Return the names of the Lustre file systems that other compute subnets would replace, with loss of data.

    ParallelCluster puts such a file system into a subnet of the queues (its templates/cluster_stack.py), and checks
    the subnets of each queue, but not queues that are added or removed with other subnets.
    """
    guarded = any(change.policy == "MANAGED_FSX" for change in around.changes)
    if guarded or _queue_subnets(around.old) == _queue_subnets(around.new):
        return []
    return kept_managed_lustre(around)


def _queue_subnets(configuration: Section) -> set[str]:
    queues = items_at(section_at(configuration, "Scheduling"), "SlurmQueues")
    return {str(one) for queue in queues for one in as_list(section_at(queue, "Networking").get("SubnetIds"))}


def _managed_lustre(configuration: Section) -> set[str]:
    lustre = (item for item in items_at(configuration, "SharedStorage") if item.get("StorageType") == "FsxLustre")
    return {str(item.get("Name")) for item in lustre if "FileSystemId" not in section_at(item, "FsxLustreSettings")}


SHARED_STORAGE = Policy(
    name="SHARED_STORAGE_UPDATE_POLICY", allows=_storage_allowed, effect=_storage_effect, refusal=_storage_refused
)
MANAGED_FSX = Policy(name="MANAGED_FSX", allows=_subnets_allowed, effect=_subnets_effect, refusal=_subnets_refused)


def _allows(change: Change, around: Circumstances) -> bool:
    return not (around.fleet_runs and _deletes_group(change, around)) and by_strategy(change, around)


def _refusal(change: Change, around: Circumstances) -> Decision:
    if _deletes_group(change, around):
        return stop_fleet("ParallelCluster made the placement group and would delete it while instances use it")
    return needs_strategy(change, around)


def _deletes_group(change: Change, around: Circumstances) -> bool:
    """Return whether a group that ParallelCluster made is removed, by either reading of `Enabled`.

    CloudFormation passes text to the provider, and ParallelCluster's check reads any text as true, even `'false'`. So a
    group may count as made by it that is not, and a deleted one as kept, until EC2 rejects its deletion.
    """
    return any(
        _is_managed(_placement_group(change, around.old), as_text)
        and not _is_managed(_placement_group(change, around.new), as_text)
        for as_text in (True, False)
    )


def _is_managed(group: Section, as_text: bool) -> bool:
    enabled: Any = group.get("Enabled")
    named = group.get("Name") or group.get("Id")
    return bool(enabled) and (as_text or enabled != "false") and not named


def _placement_group(change: Change, configuration: Section) -> Section:
    """The group of the compute resource of the change, else of its queue."""
    queue = _named(section_at(configuration, "Scheduling"), "SlurmQueues", change)
    resource = _named(queue, "ComputeResources", change)
    own = section_at(resource, "Networking", "PlacementGroup")
    return own or section_at(queue, "Networking", "PlacementGroup")


def _named(section: Section, items: str, change: Change) -> Section:
    name = change.item_name(items)
    found = (item for item in items_at(section, items) if name and item.get("Name") == name)
    return next(found, None) or {}


MANAGED_PLACEMENT_GROUP = Policy(
    name="MANAGED_PLACEMENT_GROUP", allows=_allows, effect=replaces_queue, refusal=_refusal
)


POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        fixed.SUPPORTED,
        fixed.IGNORED,
        fixed.SUPPORTED_UNLESS_ADC,
        fixed.EXTRA_CHEF_ATTRIBUTES,
        fixed.READ_ONLY_RESOURCE_BUCKET,
        fixed.UNSUPPORTED,
        fixed.UNKNOWN,
        QUEUE_UPDATE_STRATEGY,
        COMPUTE_FLEET_STOP,
        COMPUTE_FLEET_STOP_ON_REMOVE,
        RESIZE_UPDATE_STRATEGY_ON_REMOVE,
        MANAGED_PLACEMENT_GROUP,
        login.LOGIN_NODES_STOP,
        login.LOGIN_NODES_POOLS,
        login.LOGIN_NODES_POOL_STOP,
        login.COMPUTE_AND_LOGIN_NODES_STOP,
        SHARED_STORAGE,
        MANAGED_FSX,
    )
}
