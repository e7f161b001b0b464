"""States of targets, and which target gets the next request."""

import asyncio
from pathlib import Path

import pytest

from llm_fleet_local.serving.proxy.targets import State, Target, Targets
from llm_fleet_local.serving.template.front import HealthCheck, TargetGroup


def targets(algorithm: str = "least_outstanding_requests", delay: float = 0.05) -> Targets:
    health = HealthCheck(
        path="/health", interval=15, timeout=5, healthy_threshold=3, unhealthy_threshold=2, codes=frozenset({200})
    )
    return Targets(TargetGroup(name="G", health=health, deregistration_delay=delay, algorithm=algorithm))


def healthy(group: Targets, name: str) -> Target:
    target = Target(name=name, socket=Path(name))
    group.register(target)
    group.checked(target, passed=True)
    return target


def test_one_passed_check_is_enough_for_a_new_target_but_not_for_a_failed_one():
    group = targets()
    target = healthy(group, "a")
    assert target.state is State.HEALTHY
    group.checked(target, passed=False)
    assert target.state is State.HEALTHY
    group.checked(target, passed=False)
    assert target.state is State.UNHEALTHY
    for _ in range(2):
        group.checked(target, passed=True)
        assert target.state is State.UNHEALTHY
    group.checked(target, passed=True)
    assert target.state is State.HEALTHY


def test_without_targets_none_is_chosen_and_with_only_unhealthy_ones_any():
    group = targets()
    assert group.choose() is None
    target = Target(name="a", socket=Path("a"))
    group.register(target)
    group.checked(target, passed=False)
    group.checked(target, passed=False)
    assert group.choose() is target
    better = healthy(group, "b")
    assert {group.choose() for _ in range(4)} == {better}


def test_round_robin_ignores_how_busy_targets_are():
    async def main() -> list[str]:
        group = targets("round_robin")
        busy, _ = healthy(group, "a"), healthy(group, "b")
        busy.requests.add(asyncio.ensure_future(asyncio.sleep(0)))  # pyright: ignore[reportArgumentType]
        return [target.name for _ in range(4) if (target := group.choose())]

    assert asyncio.run(main()) == ["a", "b", "a", "b"]


def test_least_outstanding_requests_chooses_the_idle_target():
    async def main() -> set[str]:
        group = targets()
        busy, _ = healthy(group, "a"), healthy(group, "b")
        busy.requests.add(asyncio.ensure_future(asyncio.sleep(0)))  # pyright: ignore[reportArgumentType]
        return {target.name for _ in range(4) if (target := group.choose())}

    assert asyncio.run(main()) == {"b"}


def test_a_draining_target_gets_no_request_and_is_disconnected_after_its_delay():
    async def main() -> None:
        group = targets()
        target = healthy(group, "a")
        under_way = asyncio.ensure_future(asyncio.sleep(60))
        target.requests.add(under_way)  # pyright: ignore[reportArgumentType]
        draining = asyncio.ensure_future(group.drain(target, time_scale=1))
        await asyncio.sleep(0)
        assert target.state is State.DRAINING
        assert group.choose() is None
        group.checked(target, passed=True)
        assert target.state is State.DRAINING
        assert not under_way.done()
        await draining
        assert target.state is State.UNUSED
        with pytest.raises(asyncio.CancelledError):
            await under_way

    asyncio.run(main())
