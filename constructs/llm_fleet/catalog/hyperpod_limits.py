"""The limits of HyperPod's CreateCluster, field by field."""

from functools import cache

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.limit import Limit


@cache
def cluster_limit(field: str) -> Limit:
    """Return the limits of `field`, by its path in the request, e.g. `ClusterName` or `VpcConfig.Subnets`.

    `[]` stands for a member of a list: `InstanceGroups` bounds their number, `InstanceGroups[].InstanceCount` a count.
    A field that has no limit, or is misspelt, is a `KeyError`.
    """
    facts = load("hyperpod_limits")[field]
    return Limit(minimum=facts.get("min"), maximum=facts.get("max"), pattern=facts.get("pattern"))


def group_limit(field: str) -> Limit:
    """Return the limits of `field` of an instance group, e.g. `InstanceCount`."""
    return cluster_limit(f"InstanceGroups[].{field}")
