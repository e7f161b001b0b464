"""What in an account is the fleet's own already, from an earlier deployment: it is not in the fleet's way."""

from collections.abc import Iterable, Mapping
from typing import Any

from llm_fleet.cli.aws.refusals import AwsRefusal
from llm_fleet.cli.check.account import Account
from llm_fleet.cli.place.arguments import places_in
from llm_fleet.config.fleet import Fleet
from llm_fleet.rules.day_two.command_codes import CommandCode

_PARALLELCLUSTER = "parallelcluster:cluster-name"


def own_ids(account: Account, fleet: Fleet) -> frozenset[str]:
    """Return the physical ids of all that the fleet's stacks have made; of a stack that is not there, nothing."""
    return frozenset(thing for stack in _stacks(fleet) for thing in _ids_of(account, stack))


def is_of_parallelcluster(tags: Iterable[Mapping[str, str]], fleet: Fleet) -> bool:
    """Return whether an instance with these tags is a node of one of the fleet's ParallelClusters."""
    names = {cluster.cluster_name for cluster in fleet.parallelclusters.values()}
    told = next((tag["Value"] for tag in tags if tag["Key"] == _PARALLELCLUSTER), "")
    return told in names or told.rpartition("-")[0] in names  # A hash follows the name.


def _stacks(fleet: Fleet) -> list[str]:
    """Return the names of the stacks that make what quotas count: the network, storage, and what stands in them."""
    ours = [f"{fleet.name}-{part}" for part in ("network", "storage")]
    return [*ours, *(place.stack for place in places_in(fleet) if place.stack is not None)]


def _ids_of(account: Account, stack: str) -> list[str]:
    try:
        told = account.ask("cloudformation", "list_stack_resources", StackName=stack)
    except AwsRefusal as refusal:
        if refusal.code is not CommandCode.GONE:
            raise
        return []
    resources: list[dict[str, Any]] = told["StackResourceSummaries"]
    return [str(one["PhysicalResourceId"]) for one in resources if one.get("PhysicalResourceId")]
