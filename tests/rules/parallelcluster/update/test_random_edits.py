"""Several random edits together, which can affect each other's verdict: ParallelCluster and our plan agree."""

import random
from copy import deepcopy

import pytest

from llm_fleet.rules.parallelcluster.update_plan import plan_update
from llm_fleet_local.parallelcluster.client import Oracle
from tests.rules.parallelcluster.update.agreement import ParallelClusterVerdict, ours
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
    """Known changes, and random counts, subnets and placement groups."""
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
    """Apply an edit, unless an earlier one has removed or added its target."""
    attempt = deepcopy(configuration)
    try:
        edit(attempt)
    except (StopIteration, KeyError, IndexError, AttributeError):
        return
    if _is_legal(attempt):
        configuration.clear()
        configuration.update(attempt)


def _is_legal(configuration: Configuration) -> bool:
    """Return whether each name exists once; other errors do not matter for a comparison."""
    queues = configuration["Scheduling"]["SlurmQueues"]
    pools = configuration.get("LoginNodes", {"Pools": []})["Pools"]
    lists = [queues, pools, configuration["SharedStorage"], *(queue["ComputeResources"] for queue in queues)]
    if not all(isinstance(items, list) for items in lists) or not all("Count" in pool for pool in pools):
        return False
    names = [[item.get("Name") for item in items] for items in lists]
    return all(None not in one and len(set(one)) == len(one) for one in names)


@pytest.mark.parametrize("seed", _SEEDS)
def test_our_plan_agrees_with_parallelcluster(oracle: Oracle, seed: int) -> None:
    old, new = _random_update(random.Random(seed))
    login_nodes = any(pool["Count"] for pool in old.get("LoginNodes", {}).get("Pools", []))
    verdicts = ParallelClusterVerdict(oracle, old, new)
    for stopped in (False, True):
        planned = ours(plan_update(old, new, fleet_is_stopped=stopped).changes)
        assert planned == verdicts.requirements(stopped=stopped, login_nodes=login_nodes), stopped


def test_the_random_edits_cover_many_policies() -> None:
    plans = [plan_update(*_random_update(random.Random(seed))) for seed in _SEEDS]
    assert len({change.policy for plan in plans for change in plan.changes}) >= 15
    assert sum(len(plan.changes) for plan in plans) > 3 * len(_SEEDS)
