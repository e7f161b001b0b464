"""Policies of shared storage, and of what a file system that ParallelCluster made holds fast."""

from dataclasses import replace

from llm_fleet.rules.parallelcluster.update.change import Change
from llm_fleet.rules.parallelcluster.update.circumstances import Circumstances
from llm_fleet.rules.parallelcluster.update.fleet_policies import by_strategy, needs_strategy, replaces_queue
from llm_fleet.rules.parallelcluster.update.policy import (
    FREE,
    STOP_LOGIN_NODES,
    Policy,
    never,
    replaced,
    stop_fleet,
    stop_login_nodes,
)
from llm_fleet.rules.parallelcluster.update.values import Section, as_list, items_at, section_at
from llm_fleet.rules.parallelcluster.update.verdict import Judgement, Verdict

HOME_DIRS = ("/home", "home")
"""How a configuration may name the mount of home directories, which never changes."""
_EXISTING = ("VolumeId", "FileSystemId", "FileCacheId")
_LIVE_KINDS = ("Efs", "FsxLustre", "FsxOntap", "FsxOpenZfs", "FileCache")
"""Mounted and unmounted on nodes that run (`STORAGE_TYPES_SUPPORTING_LIVE_UPDATES`, pcluster/constants.py)."""


def _storage_allowed(change: Change, around: Circumstances) -> bool:
    if _moves_home(change):
        return False
    if _is_live(change):
        return True
    if not change.is_item and (around.fleet_runs or around.login_nodes_run):
        return False  # ParallelCluster's check of a changed MountDir breaks off then with an error of its own.
    return not around.login_nodes_run and (not around.fleet_runs or around.strategy_replaces)


def _storage_effect(change: Change, around: Circumstances) -> Judgement:
    return FREE if _is_live(change) else replaced("every queue", around)


def _storage_refused(change: Change, around: Circumstances) -> Judgement:
    if _moves_home(change):
        return never(change, around)
    if not change.is_item:
        return _mount_moved(change, around)
    reason = "nodes that run mount and unmount only existing EFS and FSx file systems"
    if not around.fleet_runs or around.strategy_replaces:
        return stop_login_nodes(reason)
    told = stop_fleet(reason, "set QueueUpdateStrategy to DRAIN")
    return _with_login_nodes(told, around)


def _mount_moved(change: Change, around: Circumstances) -> Judgement:
    reason = "ParallelCluster does not move a mount while nodes run"
    name = change.item_name("SharedStorage")
    alternative = f"put in place of {name} one of another name with the new MountDir"
    if not around.fleet_runs:
        told = stop_login_nodes(reason)
        return replace(told, remedy=f"{alternative}, or {told.remedy}")
    return _with_login_nodes(stop_fleet(reason, alternative), around)


def _with_login_nodes(told: Judgement, around: Circumstances) -> Judgement:
    if not around.login_nodes_run:
        return told
    return replace(told, remedy=f"{told.remedy}; login nodes as well: {STOP_LOGIN_NODES}")


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


def _subnets_effect(change: Change, around: Circumstances) -> Judgement:
    return FREE if _only_adds(change) else replaces_queue(change, around)


def _subnets_refused(change: Change, around: Circumstances) -> Judgement:
    kept = kept_managed_lustre(around)
    if not kept:
        return needs_strategy(change, around)
    return Judgement(
        verdict=Verdict.NEEDS_NEW_CLUSTER,
        reason=f"ParallelCluster would make the Lustre file system {', '.join(kept)} anew, without its data",
        remedy="keep the subnets; a file system that is handed over by its id does not bind them",
    )


def _only_adds(change: Change) -> bool:
    old, new = as_list(change.old), as_list(change.new)
    return change.in_queue and bool(old) and all(value in new for value in old)


def kept_managed_lustre(around: Circumstances) -> list[str]:
    """Return the names of the Lustre file systems that ParallelCluster made and that stay."""
    return sorted(_managed_lustre(around.old) & _managed_lustre(around.new))


def lustre_made_anew(around: Circumstances) -> list[str]:
    """Return the names of the Lustre file systems that other compute subnets would replace, data and all.

    ParallelCluster puts such a file system into a subnet of the queues (its templates/cluster_stack.py), and guards
    the subnets of each queue; but not against queues that come and go with other subnets.
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
