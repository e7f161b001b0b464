"""Several random edits immediately, where one has a say in another's verdict: ParallelCluster and we agree on each."""

import random
from copy import deepcopy

import pytest

from llm_fleet.rules.parallelcluster.update_plan import plan_update
from local.parallelcluster.client import Oracle
from tests.rules.parallelcluster.update.agreement import ParallelClustersWord, ours
from tests.rules.parallelcluster.update.cases import CHANGES
from tests.rules.parallelcluster.update.configurations import STRATEGIES, Configuration, Edit, base, put

_SEEDS = range(60)
_QUEUES = {"trn1": ("trn1", "spare"), "cpu": ("cpu",)}


def _random_update(dice: random.Random) -> tuple[Configuration, Configuration]:
    old = base(dice.choice(STRATEGIES), login_nodes=dice.choice((0, 2)))
    for edit in dice.sample(_edits(dice), k=dice.randint(0, 4)):
        _tried(old, edit)
    new = deepcopy(old)
    for edit in dice.sample(_edits(dice), k=dice.randint(1, 8)):
        _tried(new, edit)
    new["Scheduling"]["SlurmSettings"]["QueueUpdateStrategy"] = dice.choice(STRATEGIES)
    return old, new


def _edits(dice: random.Random) -> list[Edit]:
    """Known changes, and counts, subnets and placement by chance."""
    edits = [edit for before, change in CHANGES.values() for edit in (*before, *change)]
    for queue, resources in _QUEUES.items():
        place = f"Scheduling/SlurmQueues/{queue}"
        subnets = [f"subnet-0123456789abcdef{number}" for number in range(4)]
        edits.append(put(f"{place}/Networking/SubnetIds", dice.sample(subnets, k=dice.randint(1, 3))))
        for where in (place, *(f"{place}/ComputeResources/{resource}" for resource in resources)):
            group = dice.choice(({"Enabled": True}, {"Enabled": True, "Name": "mine"}, {"Id": "yours"}, {}))
            edits.append(put(f"{where}/Networking/PlacementGroup", group))
        for resource in resources:
            where = f"{place}/ComputeResources/{resource}"
            edits.append(put(f"{where}/MinCount", dice.randint(0, 5)))
            edits.append(put(f"{where}/MaxCount", dice.randint(5, 12)))
    return edits


def _tried(configuration: Configuration, edit: Edit) -> None:
    """Make an edit, unless an earlier one has taken away, or put there, what it is about."""
    attempt = deepcopy(configuration)
    try:
        edit(attempt)
    except (StopIteration, KeyError, IndexError, AttributeError):
        return
    if _is_legal(attempt):
        configuration.clear()
        configuration.update(attempt)


def _is_legal(configuration: Configuration) -> bool:
    """Return whether each name exists once; the rest does not matter for a comparison."""
    queues = configuration["Scheduling"]["SlurmQueues"]
    pools = configuration.get("LoginNodes", {"Pools": []})["Pools"]
    lists = [queues, pools, configuration["SharedStorage"], *(queue["ComputeResources"] for queue in queues)]
    if not all(isinstance(items, list) for items in lists) or not all("Count" in pool for pool in pools):
        return False
    names = [[item.get("Name") for item in items] for items in lists]
    return all(None not in one and len(set(one)) == len(one) for one in names)


@pytest.mark.parametrize("seed", _SEEDS)
def test_parallelcluster_agrees(oracle: Oracle, seed: int) -> None:
    old, new = _random_update(random.Random(seed))
    login_nodes = any(pool["Count"] for pool in old.get("LoginNodes", {}).get("Pools", []))
    word = ParallelClustersWord(oracle, old, new)
    for stopped in (False, True):
        planned = ours(plan_update(old, new, fleet_is_stopped=stopped).changes)
        assert planned == word.reported(stopped=stopped, login_nodes=login_nodes), stopped


def test_the_edits_come_to_something() -> None:
    plans = [plan_update(*_random_update(random.Random(seed))) for seed in _SEEDS]
    assert len({change.policy for plan in plans for change in plan.changes}) >= 15
    assert sum(len(plan.changes) for plan in plans) > 3 * len(_SEEDS)
