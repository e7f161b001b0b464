"""Training environments are on shared storage: built once by one node of the group, and verified by all nodes.

Environments that are no longer configured are kept, because jobs may run in them. A start never removes one;
docs/node-failures/LFN131.md describes how to find unused ones.
"""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.node import Node
from llm_fleet_node.step import COMPUTE, Step
from llm_fleet_node.training import environments, storage
from llm_fleet_node.training.of_group import environments_of, why_no_training

_HYPERPOD_SECONDS, _PARALLELCLUSTER_SECONDS = 7200.0, 1500.0
"""Timeout for all environments, also when another node builds them. HyperPod allows 3 hours for a group, AWS
ParallelCluster 35 minutes for a node (its `compute_node_bootstrap_timeout`, 2100 s): a node that gives up reports why,
and the next one finds the environment."""
_MARGIN = 120.0
"""Seconds that remain to report it."""


def _apply(node: Node) -> None:
    """Build missing environments, or wait for another node that builds them."""
    storage.check_shared(node)
    for environment in environments_of(node):
        environments.ensure(node, environment, seconds=_limit(node))


def _verify(node: Node) -> None:
    """Verify that each environment is complete and runs on this node."""
    for environment in environments_of(node):
        environments.check(node, environment)


def _limit(node: Node) -> float:
    return _PARALLELCLUSTER_SECONDS if node.on_parallelcluster else _HYPERPOD_SECONDS


def _skip(node: Node) -> Optional[str]:
    """Skipped for a group without environments."""
    return why_no_training(node) or (None if environments_of(node) else "the group has no training environment")


STEP = Step(
    name="training_environment",
    summary="the training environment is complete and runs on this node",
    # Only nodes that run jobs have the required accelerator and interpreter.
    roles=frozenset({COMPUTE}),
    apply=_apply,
    verify=_verify,
    needs=("training_programs",),
    # Enroot's folders and the disk for downloads must be ready.
    after=("disks", "enroot", "neuron_host"),
    skip=_skip,
    timeout=_HYPERPOD_SECONDS + _MARGIN,
    retries=1,
)
