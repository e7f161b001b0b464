"""A step: one property of a node, set by `apply` and checked by `verify`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from llm_fleet_node.node import Node

CONTROLLER, LOGIN, COMPUTE = "Controller", "Login", "Compute"
EVERY_ROLE = frozenset({CONTROLLER, LOGIN, COMPUTE})

ON_CREATE = "OnCreate"
"""HyperPod, instead of the AMI's configuration: nothing is set up, and Slurm is not started."""
ON_INIT_COMPLETE = "OnInitComplete"
"""HyperPod, after the AMI has configured Slurm, Docker, Enroot, Pyxis, accounting and mounts."""
ON_NODE_CONFIGURED = "OnNodeConfigured"
"""AWS ParallelCluster, after it has configured the node. slurmd is started after this hook."""
EVERY_HOOK = frozenset({ON_CREATE, ON_INIT_COMPLETE, ON_NODE_CONFIGURED})


@dataclass(frozen=True)
class Step:
    """The declaration of a step for the runner.

    `apply` can be run any number of times, also after it was killed: it checks first and changes only what is not
    correct. `verify` changes nothing and raises `Failure` if the state is not correct. Both run in a separate process,
    which is killed with all its children after `timeout`.
    """

    name: str
    """Its file's name, e.g. `mount_lustre`."""
    summary: str
    """The state after the step, in a few words, e.g. `Lustre file systems are mounted`."""
    roles: frozenset[str]
    """Roles of the nodes that run it."""
    apply: Callable[[Node], None]
    verify: Callable[[Node], None]
    needs: tuple[str, ...] = ()
    """Names of the steps that must be done before it. A step that this node does not run counts as done."""
    after: tuple[str, ...] = ()
    """Names of the steps that it waits for, if the node runs them, but that can fail."""
    hooks: frozenset[str] = EVERY_HOOK
    """Hooks in which it is run."""
    skip: Callable[[Node], Optional[str]] = lambda _: None
    """Returns why this node does not need it, e.g. `the fleet has no Lustre file system`; `None` if it does."""
    timeout: float = 60
    """Timeout of an attempt (`apply` and `verify` together) in seconds."""
    retries: int = 0
    """Number of retries after a failure. A final `Failure` is not retried."""
    is_for_jobs: bool = True
    """Whether jobs need it. If a step that they do not need fails, the node works and is reported as degraded."""
