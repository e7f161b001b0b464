"""Policies of changes that concern login nodes."""

from dataclasses import replace

from llm_fleet.rules.parallelcluster.update.change import Change
from llm_fleet.rules.parallelcluster.update.circumstances import Circumstances
from llm_fleet.rules.parallelcluster.update.policy import STOP_LOGIN_NODES, Policy, stop_fleet, stop_login_nodes
from llm_fleet.rules.parallelcluster.update.verdict import Judgement


def _all_stopped(_change: Change, around: Circumstances) -> bool:
    return not around.login_nodes_run


def _pool_stopped(change: Change, around: Circumstances) -> bool:
    return change.pool not in around.running_pools


def _pool_added(change: Change, around: Circumstances) -> bool:
    return not around.login_nodes_run or (change.adds_item and change.key == "Pools")


def _both_stopped(_change: Change, around: Circumstances) -> bool:
    return not around.fleet_runs and not around.login_nodes_run


def _stop_all(change: Change, _around: Circumstances) -> Judgement:
    return stop_login_nodes(f"{change.key} cannot be changed or removed while any login node runs")


def _stop_pool(change: Change, _around: Circumstances) -> Judgement:
    return stop_login_nodes(f"it cannot be changed while login nodes of {change.pool} run")


def _stop_both(change: Change, around: Circumstances) -> Judgement:
    if not around.fleet_runs:
        return _stop_all(change, around)
    told = stop_fleet("it cannot be changed while compute or login nodes run")
    if not around.login_nodes_run:
        return told
    return replace(told, remedy=f"{told.remedy}; login nodes as well: {STOP_LOGIN_NODES}")


LOGIN_NODES_STOP = Policy(name="LOGIN_NODES_STOP", allows=_all_stopped, refusal=_stop_all)
LOGIN_NODES_POOLS = Policy(name="LOGIN_NODES_POOLS_UPDATE_POLICY", allows=_pool_added, refusal=_stop_all)
LOGIN_NODES_POOL_STOP = Policy(name="LOGIN_NODES_POOL_STOP", allows=_pool_stopped, refusal=_stop_pool)
COMPUTE_AND_LOGIN_NODES_STOP = Policy(name="COMPUTE_AND_LOGIN_NODES_STOP", allows=_both_stopped, refusal=_stop_both)
