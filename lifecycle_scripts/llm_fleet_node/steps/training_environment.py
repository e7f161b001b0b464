"""What jobs run in is on shared storage: built there once, by one node of the group, and proven by all of them.

Environments that no fleet asks for any more are left where they are, since jobs may run in them. A start never removes
one; docs/node-failures/LFN131.md tells how to find those that nobody uses.
"""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.node import Node
from llm_fleet_node.step import COMPUTE, Step
from llm_fleet_node.training import environments, storage
from llm_fleet_node.training.of_group import environments_of, why_no_training

_HYPERPOD_SECONDS, _PARALLELCLUSTER_SECONDS = 7200.0, 1500.0
"""For all environments together, also when another node builds them. HyperPod gives a group 3 hours, AWS
ParallelCluster 35 minutes to a node in all (its `compute_node_bootstrap_timeout`, 2100 s): a node that gives up says
why, and the next one finds it built."""
_MARGIN = 120.0
"""Seconds that are left to say so."""


def _apply(node: Node) -> None:
    """Build what is not there, unless another node does; then wait for it."""
    storage.check_shared(node)
    for environment in environments_of(node):
        environments.ensure(node, environment, seconds=_limit(node))


def _verify(node: Node) -> None:
    """Prove that each environment is whole, and runs on this node."""
    for environment in environments_of(node):
        environments.check(node, environment)


def _limit(node: Node) -> float:
    return _PARALLELCLUSTER_SECONDS if node.on_parallelcluster else _HYPERPOD_SECONDS


def _skip(node: Node) -> Optional[str]:
    """Nothing to do for a group whose jobs need none."""
    return why_no_training(node) or (None if environments_of(node) else "jobs of this group run in no environment")


STEP = Step(
    name="training_environment",
    summary="what jobs run in is whole, and runs on this node",
    # Only nodes that run jobs have the accelerator and the interpreter that it is made for.
    roles=frozenset({COMPUTE}),
    apply=_apply,
    verify=_verify,
    needs=("training_programs",),
    # Enroot keeps layers where its step says; the disk for downloads is made by then.
    after=("disks", "enroot", "neuron_host"),
    skip=_skip,
    timeout=_HYPERPOD_SECONDS + _MARGIN,
    retries=1,
)
