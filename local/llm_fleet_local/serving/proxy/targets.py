"""A target group: its targets, their states, and the choice of the target for the next request.

Source: model botocore elbv2 TargetHealthStateEnum
Source: model botocore elbv2 TargetGroupAttribute
"""

import asyncio
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from pathlib import Path

from llm_fleet_local.serving.template.front import TargetGroup


class State(StrEnum):
    """States of a target, by Elastic Load Balancing's names."""

    INITIAL = "initial"
    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    DRAINING = "draining"
    UNUSED = "unused"


@dataclass(slots=True, kw_only=True, eq=False)
class Target:
    """One task's port."""

    name: str
    socket: Path
    state: State = State.INITIAL
    requests: set["asyncio.Task[object]"] = field(default_factory=set["asyncio.Task[object]"])
    """Requests in progress."""
    passed: int = 0
    failed: int = 0
    turn: int = 0
    """When it was last chosen."""


class Targets:
    """The targets of one group. Used from one event loop."""

    def __init__(self, group: TargetGroup) -> None:
        """Take the group's settings in the template."""
        self.group = group
        self.members: list[Target] = []
        self._turns = count(1)

    def register(self, target: Target) -> None:
        """Register a target; it gets requests after it passed a health check."""
        self.members.append(target)

    def choose(self) -> Target | None:
        """Return the target for the next request: a healthy one, or any when none is healthy (fail open)."""
        there = [target for target in self.members if target.state not in (State.DRAINING, State.UNUSED)]
        healthy = [target for target in there if target.state is State.HEALTHY]
        candidates = healthy or there
        if not candidates:
            return None
        outstanding = self.group.algorithm == "least_outstanding_requests"
        chosen = min(candidates, key=lambda target: (len(target.requests) if outstanding else 0, target.turn))
        chosen.turn = next(self._turns)
        return chosen

    def checked(self, target: Target, *, passed: bool) -> None:
        """Record a health check. A new target needs only one that passes."""
        health = self.group.health
        target.passed, target.failed = (target.passed + 1, 0) if passed else (0, target.failed + 1)
        first = target.state is State.INITIAL
        if target.state in (State.DRAINING, State.UNUSED):
            return
        if passed and (first or target.passed >= health.healthy_threshold):
            target.state = State.HEALTHY
        elif not passed and target.failed >= health.unhealthy_threshold:
            target.state = State.UNHEALTHY

    async def drain(self, target: Target, *, time_scale: float) -> None:
        """Stop new requests, wait for the deregistration delay, then cancel requests in progress.

        The whole delay is waited for, busy or not: until then the target is shown as draining, and ECS waits for that.
        """
        target.state = State.DRAINING
        await asyncio.sleep(self.group.deregistration_delay * time_scale)
        target.state = State.UNUSED
        for task in list(target.requests):
            task.cancel()
        self.members.remove(target)
