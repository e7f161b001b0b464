"""Every verdict is that of ParallelCluster's package, for each change, strategy and state of the nodes."""

import pytest

from llm_fleet.rules.parallelcluster.update_fleet_policies import POLICIES
from llm_fleet.rules.parallelcluster.update_plan import plan_update
from llm_fleet_local.parallelcluster.client import Oracle
from tests.rules.parallelcluster.update.agreement import ParallelClusterVerdict, ours
from tests.rules.parallelcluster.update.cases import CHANGES
from tests.rules.parallelcluster.update.configurations import STRATEGIES, Configuration, base, edited

_DEPEND_ON_LOGIN_NODES = {name for name in POLICIES if "LOGIN" in name or "STORAGE" in name}


def _no_login_nodes(configuration: Configuration) -> None:
    for pool in configuration["LoginNodes"]["Pools"]:
        pool["Count"] = 0


def _depends_on_login_nodes(name: str) -> bool:
    before, change = CHANGES[name]
    old = edited(base(), *before, _no_login_nodes)
    return any(planned.policy in _DEPEND_ON_LOGIN_NODES for planned in plan_update(old, edited(old, *change)).changes)


@pytest.mark.parametrize("name", CHANGES)
def test_the_verdict_is_that_of_parallelcluster(oracle: Oracle, name: str) -> None:
    before, change = CHANGES[name]
    for strategy in STRATEGIES:
        old = edited(base(strategy), *before)
        new = edited(old, *change)
        verdicts = ParallelClusterVerdict(oracle, old, new)
        for stopped in (False, True):
            planned = ours(plan_update(old, new, fleet_is_stopped=stopped).changes)
            assert planned == verdicts.requirements(stopped=stopped, login_nodes=True), (strategy, stopped)
        if not _depends_on_strategy(old, new):
            break


@pytest.mark.parametrize("name", [name for name in CHANGES if _depends_on_login_nodes(name)])
def test_the_verdict_with_login_nodes_stopped_is_that_of_parallelcluster(oracle: Oracle, name: str) -> None:
    before, change = CHANGES[name]
    old = edited(base(), *before, _no_login_nodes)
    new = edited(old, *change)
    verdicts = ParallelClusterVerdict(oracle, old, new)
    for stopped in (False, True):
        planned = ours(plan_update(old, new, fleet_is_stopped=stopped).changes)
        assert planned == verdicts.requirements(stopped=stopped, login_nodes=False), stopped


def _depends_on_strategy(old: Configuration, new: Configuration) -> bool:
    return any(
        "SlurmQueues" in planned.where or "SharedStorage" in planned.where for planned in plan_update(old, new).changes
    )


def test_each_policy_has_a_case() -> None:
    policies = {
        planned.policy
        for before, change in CHANGES.values()
        for planned in plan_update(edited(base(), *before), edited(base(), *before, *change)).changes
    }
    assert policies | {"IGNORED", "UNKNOWN"} >= set(POLICIES)
