"""What a step is: one thing that a node must have or be, made so by `apply` and proven by `verify`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from llm_fleet_node.node import Node

CONTROLLER, LOGIN, COMPUTE = "Controller", "Login", "Compute"
EVERY_ROLE = frozenset({CONTROLLER, LOGIN, COMPUTE})

ON_CREATE = "OnCreate"
"""HyperPod, in place of the AMI's own configuration: nothing is set up, Slurm is not started."""
ON_INIT_COMPLETE = "OnInitComplete"
"""HyperPod, once the AMI has configured Slurm, Docker, Enroot, Pyxis, accounting and mounts."""
ON_NODE_CONFIGURED = "OnNodeConfigured"
"""AWS ParallelCluster, once it has configured the node. slurmd is started after it."""
EVERY_HOOK = frozenset({ON_CREATE, ON_INIT_COMPLETE, ON_NODE_CONFIGURED})


@dataclass(frozen=True)
class Step:
    """One step, as its file declares it. The runner knows nothing else of it.

    `apply` makes it so and may be run any number of times, also after it was killed half-way: it looks first and
    changes only what is not right. `verify` changes nothing and raises `Failure` unless it is so. Both run in a
    process of their own, which is killed with everything it started when `timeout` is over.
    """

    name: str
    """Its file's name, e.g. `mount_lustre`."""
    summary: str
    """What is so afterwards, in a few words for people, e.g. `Lustre file systems are mounted`."""
    roles: frozenset[str]
    """Roles of the nodes that take it."""
    apply: Callable[[Node], None]
    verify: Callable[[Node], None]
    needs: tuple[str, ...] = ()
    """Names of the steps that must be done before it. One that this node does not take counts as done."""
    after: tuple[str, ...] = ()
    """Names of the steps that it waits for where they are taken, but does not need: they may fail."""
    hooks: frozenset[str] = EVERY_HOOK
    """Hooks in which it is taken."""
    skip: Callable[[Node], Optional[str]] = lambda _: None
    """Says why this node does not need it, e.g. `the fleet has no Lustre file system`; `None` when it does."""
    timeout: float = 60
    """Seconds that one attempt, `apply` and `verify` together, may take."""
    retries: int = 0
    """How often it is attempted anew after it failed. A `Failure` marked final is not attempted anew."""
    is_for_jobs: bool = True
    """Whether jobs need it. One that they do not need may fail, and the node works: it is told as degraded."""
