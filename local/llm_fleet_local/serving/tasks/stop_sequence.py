"""How ECS stops a task of a service.

Deregister it; wait until its target is no longer draining, which is the whole deregistration delay; send SIGTERM; wait
for `stopTimeout`; send SIGKILL. From "Optimize load balancer connection draining parameters" and "Task lifecycle" of
the ECS developer guide.

Source: model botocore ecs ContainerDefinition
Source: assumption load-balancer-jwt-open-ends
"""

import signal
from dataclasses import dataclass

from llm_fleet_local.serving.proxy.proxy import Proxy
from llm_fleet_local.serving.proxy.targets import Target
from llm_fleet_local.serving.tasks.task import Task

_LEAST_SECONDS = 1.0
"""A scaled stop timeout is never shorter: ending a process takes its time whatever the scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """How a task ended."""

    exit_code: int
    """Negative: the signal that ended it."""
    killed: bool
    """Whether it had to be."""


async def stop_task(task: Task, target: Target, *, proxy: Proxy, group: str, time_scale: float) -> Stopped:
    """Stop `task` in that order, and say how it ended."""
    await proxy.drain(group, target)
    task.process.send_signal(signal.SIGTERM)
    patience = max(task.container.stop_timeout * time_scale, _LEAST_SECONDS)
    killed = not await task.ended(within=patience)
    task.kill()
    return Stopped(exit_code=task.process.returncode, killed=killed)
