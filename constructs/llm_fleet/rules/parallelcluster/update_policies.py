"""Update policies of ParallelCluster for keys of nodes and of the cluster: what a change of each requires."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from llm_fleet.rules.parallelcluster.update_changes import Change, Circumstances, Decision, Verdict
from llm_fleet.rules.terms import QueueUpdateStrategy

FREE = Decision(verdict=Verdict.FREE, reason="changed in place")
STOP_FLEET = (
    "stop the fleet (`pcluster update-compute-fleet --cluster-name NAME --status STOP_REQUESTED`), wait until it is "
    "STOPPED, deploy with `fleet_is_stopped`, start it again"
)
STOP_LOGIN_NODES = "deploy with a count of 0 for the login pools first, wait until their nodes are gone"


def _always_free(_change: Change, _around: Circumstances) -> Decision:
    return FREE


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """When an update can make a change, and what it requires otherwise."""

    name: str
    """Its name in ParallelCluster."""
    allows: Callable[[Change, Circumstances], bool]
    """ParallelCluster's condition: whether the change is accepted."""
    effect: Callable[[Change, Circumstances], Decision] = _always_free
    """The effect of an accepted change."""
    refusal: Callable[[Change, Circumstances], Decision]
    """The fix for a rejected change."""

    def verify(self, change: Change, around: Circumstances) -> Decision:
        """Return the verdict on `change`."""
        reported = self.effect if self.allows(change, around) else self.refusal
        return reported(change, around)


def replaced(where: str, around: Circumstances) -> Decision:
    """Return what `QueueUpdateStrategy` does to the nodes of `where`; nothing when the fleet is stopped.

    The head node replaces nodes of queues after a change with the policy of that name (aws-parallelcluster-cookbook,
    update_head_node.rb, of an earlier 3.x). Whether 3.16 does this for placement groups, subnets and its own storage,
    too, or at the next start of each node: assumption: parallelcluster-replaces-on-queue-update
    """
    if not around.fleet_runs:
        return Decision(verdict=Verdict.FREE, reason="the fleet is stopped")
    if around.strategy == QueueUpdateStrategy.TERMINATE:
        reason = f"TERMINATE terminates the nodes of {where} and their jobs immediately"
        return Decision(verdict=Verdict.TERMINATES, reason=reason)
    return Decision(verdict=Verdict.DRAINS, reason=f"DRAIN replaces the nodes of {where} once their jobs have ended")


def stop_fleet(reason: str, alternative: str = "") -> Decision:
    """Return that the fleet must be stopped, or the `alternative` done."""
    remedy = f"{alternative}, or {STOP_FLEET}" if alternative else STOP_FLEET
    return Decision(verdict=Verdict.NEEDS_STOPPED_FLEET, reason=reason, remedy=remedy)


def stop_login_nodes(reason: str) -> Decision:
    """Return that the login nodes must be stopped."""
    return Decision(verdict=Verdict.NEEDS_STOPPED_LOGIN_NODES, reason=reason, remedy=STOP_LOGIN_NODES)


def never(change: Change, _around: Circumstances) -> Decision:
    """Return that no update can make the change."""
    if change.old is None:
        back = f"remove {change.key}"
    else:
        back = f"restore {change.key}" if change.is_item or isinstance(change.old, dict) else f"keep {change.old!r}"
    remedy = f"{back}, or create a new cluster (`immutable_changes: new-cluster`)"
    return Decision(verdict=Verdict.NEEDS_NEW_CLUSTER, reason="ParallelCluster cannot change it", remedy=remedy)


_CHANGEABLE = frozenset(
    {
        "cluster.slurm.reconfigure_timeout",
        "cluster.cluster_readiness_check_enabled",
        "cluster.cluster_readiness_check_ignore_failure",
    }
)
"""From `EXTRA_CHEF_ATTRIBUTES_UPDATABLE_PATHS` of aws-parallelcluster 3.16.1, config/update_policy.py."""


def fixed_attributes(text: Any) -> dict[str, Any]:
    """Return the attributes that no update can change, by their dotted paths; none when the text is not JSON."""
    try:
        attributes = json.loads(text)
    except (TypeError, ValueError):
        return {}
    leaves = _leaves(cast("Any", attributes), "") if isinstance(attributes, Mapping) else {}
    return {path: value for path, value in leaves.items() if path not in _CHANGEABLE}


def _leaves(attributes: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in attributes.items():
        if isinstance(value, Mapping) and value:
            found |= _leaves(cast("Mapping[str, Any]", value), f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def changed_fixed_attributes(old: Any, new: Any) -> set[str]:
    """Return the dotted paths of differing attributes that no update can change."""
    before, after = fixed_attributes(old), fixed_attributes(new)
    return {path for path in {*before, *after} if before.get(path, _ABSENT) != after.get(path, _ABSENT)}


_ABSENT = object()


def _always(_change: Change, _around: Circumstances) -> bool:
    return True


def _never(_change: Change, _around: Circumstances) -> bool:
    return False


def _outside_isolated_regions(_change: Change, around: Circumstances) -> bool:
    return not around.region.startswith("us-iso")


def _isolated_region(_change: Change, _around: Circumstances) -> Decision:
    return Decision(
        verdict=Verdict.NEEDS_NEW_CLUSTER,
        reason="in isolated regions an update of tags leaves the head node waiting",
        remedy="keep the tags as they are",
    )


def _attributes_allowed(change: Change, _around: Circumstances) -> bool:
    return not changed_fixed_attributes(change.old, change.new)


def _attributes_refused(change: Change, _around: Circumstances) -> Decision:
    fixed = ", ".join(sorted(changed_fixed_attributes(change.old, change.new)))
    return Decision(
        verdict=Verdict.NEEDS_NEW_CLUSTER,
        reason=f"ParallelCluster cannot change {fixed}",
        remedy="restore these attributes, or create a new cluster (`immutable_changes: new-cluster`)",
    )


SUPPORTED = Policy(name="SUPPORTED", allows=_always, refusal=never)
IGNORED = Policy(name="IGNORED", allows=_always, refusal=never)
SUPPORTED_UNLESS_ADC = Policy(name="SUPPORTED_UNLESS_ADC", allows=_outside_isolated_regions, refusal=_isolated_region)
EXTRA_CHEF_ATTRIBUTES = Policy(name="EXTRA_CHEF_ATTRIBUTES", allows=_attributes_allowed, refusal=_attributes_refused)
READ_ONLY_RESOURCE_BUCKET = Policy(name="READ_ONLY_RESOURCE_BUCKET", allows=_never, refusal=never)
UNSUPPORTED = Policy(name="UNSUPPORTED", allows=_never, refusal=never)
UNKNOWN = Policy(name="UNKNOWN", allows=_never, refusal=never)


def _all_stopped(_change: Change, around: Circumstances) -> bool:
    return not around.login_nodes_run


def _pool_stopped(change: Change, around: Circumstances) -> bool:
    return change.pool not in around.running_pools


def _pool_added(change: Change, around: Circumstances) -> bool:
    return not around.login_nodes_run or (change.adds_item and change.key == "Pools")


def _both_stopped(_change: Change, around: Circumstances) -> bool:
    return not around.fleet_runs and not around.login_nodes_run


def _stop_all(change: Change, _around: Circumstances) -> Decision:
    return stop_login_nodes(f"{change.key} cannot be changed or removed while any login node runs")


def _stop_pool(change: Change, _around: Circumstances) -> Decision:
    return stop_login_nodes(f"it cannot be changed while login nodes of {change.pool} run")


def _stop_both(change: Change, around: Circumstances) -> Decision:
    if not around.fleet_runs:
        return _stop_all(change, around)
    reported = stop_fleet("it cannot be changed while compute or login nodes run")
    if not around.login_nodes_run:
        return reported
    return replace(reported, remedy=f"{reported.remedy}; for login nodes, too: {STOP_LOGIN_NODES}")


LOGIN_NODES_STOP = Policy(name="LOGIN_NODES_STOP", allows=_all_stopped, refusal=_stop_all)
LOGIN_NODES_POOLS = Policy(name="LOGIN_NODES_POOLS_UPDATE_POLICY", allows=_pool_added, refusal=_stop_all)
LOGIN_NODES_POOL_STOP = Policy(name="LOGIN_NODES_POOL_STOP", allows=_pool_stopped, refusal=_stop_pool)
COMPUTE_AND_LOGIN_NODES_STOP = Policy(name="COMPUTE_AND_LOGIN_NODES_STOP", allows=_both_stopped, refusal=_stop_both)
