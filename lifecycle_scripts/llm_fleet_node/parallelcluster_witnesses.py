"""Sources for the group of an AWS ParallelCluster node. A queue is a group with the role Compute."""

from __future__ import annotations

import re

from llm_fleet_node.manifest import Manifest
from llm_fleet_node.parallelcluster_files import CfnConfig
from llm_fleet_node.witnesses import Testimony

_ROLES = {"HeadNode": "Controller", "ComputeFleet": "Compute", "LoginNode": "Login"}

_NODE_NAME = re.compile(r"(?P<queue>[a-z][a-z0-9-]*)-(?P<kind>st|dy)-(?P<resource>[a-z][a-z0-9-]*)-(?P<number>\d+)")
"""Static and dynamic nodes of a queue. Names of queues and compute resources can have hyphens, so the split can be
ambiguous."""


def by_node_type(config: CfnConfig, manifest: Manifest) -> Testimony:
    """ParallelCluster's node type."""
    witness = "cfnconfig, cfn_node_type"
    role = _ROLES.get(config.node_type or "")
    if role is None:
        return Testimony(witness, None, f"the node type is {config.node_type or 'missing'}")
    return _of_role(witness, role, f"the node type is {config.node_type}", manifest)


def by_queue(config: CfnConfig, manifest: Manifest) -> Testimony:
    """The queue for which ParallelCluster started the node."""
    witness = "cfnconfig, cfn_scheduler_queue_name"
    if config.queue is None:
        return Testimony(witness, None, "it names no queue")
    return Testimony(witness, _of_queues({config.queue}, manifest), f"the queue is {config.queue}", names=True)


def by_host_name(name: str | None, manifest: Manifest) -> Testimony:
    """The name that ParallelCluster gives the nodes of queues: `<queue>-<st or dy>-<compute resource>-<number>`."""
    witness = "host name"
    queues = _queues(name or "")
    if not queues:
        return Testimony(witness, None, f"{name or 'it'} is not the name of a node in a queue")
    return Testimony(witness, _of_queues(queues, manifest), f"{name} is in the queue {' or '.join(sorted(queues))}")


def _queues(name: str) -> set[str]:
    """Return every possible queue of `name`: `a-st-b-st-c-1` can be in `a` or `a-st-b`."""
    cuts = [match.start() for match in re.finditer(r"-(?:st|dy)-", name)]
    return {name[:cut] for cut in cuts if _NODE_NAME.fullmatch(name)}


def _of_queues(queues: set[str], manifest: Manifest) -> frozenset[str]:
    found = frozenset(
        group.name for group in manifest.groups if group.role == "Compute" and {group.name, group.partition} & queues
    )
    return found or frozenset(queues)


def _of_role(witness: str, role: str, says: str, manifest: Manifest) -> Testimony:
    groups = frozenset(group.name for group in manifest.groups if group.role == role)
    return Testimony(witness, groups, says, names=len(groups) == 1)
