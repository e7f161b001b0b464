"""The policy of placement groups: one that ParallelCluster made cannot be deleted from under its instances."""

from typing import Any

from llm_fleet.rules.parallelcluster.update.change import Change
from llm_fleet.rules.parallelcluster.update.circumstances import Circumstances
from llm_fleet.rules.parallelcluster.update.fleet_policies import by_strategy, needs_strategy, replaces_queue
from llm_fleet.rules.parallelcluster.update.policy import Policy, stop_fleet
from llm_fleet.rules.parallelcluster.update.values import Section, items_at, section_at
from llm_fleet.rules.parallelcluster.update.verdict import Judgement


def _allows(change: Change, around: Circumstances) -> bool:
    return not (around.fleet_runs and _deletes_group(change, around)) and by_strategy(change, around)


def _refusal(change: Change, around: Circumstances) -> Judgement:
    if _deletes_group(change, around):
        return stop_fleet("ParallelCluster made the placement group and would delete it from under its instances")
    return needs_strategy(change, around)


def _deletes_group(change: Change, around: Circumstances) -> bool:
    """Tell whether a group that ParallelCluster made goes, in either reading of `Enabled`.

    CloudFormation hands the provider text, and to ParallelCluster's check any text is true, `'false'` as well. So a
    group may count as made by it that is not; and one that is deleted, as kept, until EC2 refuses to delete it.
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
    """The group of the compute resource that the change is in, else of its queue."""
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
