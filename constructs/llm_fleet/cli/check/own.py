"""What in an account is the fleet's own already, from an earlier deployment: it is not in the fleet's way."""

from collections.abc import Iterable, Mapping
from typing import Any

from llm_fleet.cli.check.account import Account
from llm_fleet.cli.place.arguments import places_in
from llm_fleet.config.fleet import Fleet

_STACK = "aws:cloudformation:stack-name"
_PARALLELCLUSTER = "parallelcluster:cluster-name"
_SERVICES = "AmazonECSManaged"


def stack_names(fleet: Fleet) -> frozenset[str]:
    """Return the names of the stacks that a fleet is made of, and of the clusters that ParallelCluster makes."""
    parts = ("network", "storage", "database", "monitoring", "watch", "studio")
    others = (*fleet.notebooks, *fleet.endpoints, *fleet.training_jobs)
    return frozenset(
        [
            *(f"{fleet.name}-{part}" for part in (*parts, *others)),
            *(name for place in places_in(fleet) for name in (place.stack, place.name) if name),
        ]
    )


def is_own(tags: Iterable[Mapping[str, str]], stacks: frozenset[str]) -> bool:
    """Return whether something with these tags was made by the fleet's stacks or clusters."""
    told = {tag["Key"]: tag["Value"] for tag in tags}
    cluster = told.get(_PARALLELCLUSTER, "")
    return told.get(_STACK) in stacks or cluster in stacks or cluster.rpartition("-")[0] in stacks


def own_vpcs(account: Account, fleet: Fleet) -> frozenset[str]:
    """Return the ids of VPCs that the fleet has made: what is in them is the fleet's."""
    stacks = stack_names(fleet)
    vpcs: list[dict[str, Any]] = account.ask("ec2", "describe_vpcs")["Vpcs"]
    return frozenset(vpc["VpcId"] for vpc in vpcs if is_own(vpc.get("Tags", ()), stacks))
