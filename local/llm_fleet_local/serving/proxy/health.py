"""Health checks of targets, with the target group's settings.

Source: model botocore elbv2 CreateTargetGroupInput
"""

import asyncio

import aiohttp

from llm_fleet_local.serving.proxy.targets import State, Target, Targets

_SHORTEST_TIMEOUT = 0.5
"""Minimum in seconds of a scaled timeout, so that a busy machine does not make targets unhealthy."""
_SHORTEST_INTERVAL = 0.25
"""Minimum in seconds of a scaled interval, so that checks do not keep the machine busy."""


async def watch_health(targets: Targets, target: Target, *, time_scale: float) -> None:
    """Check `target` until it is deregistered; the first time immediately."""
    health = targets.group.health
    interval = max(health.interval * time_scale, _SHORTEST_INTERVAL)
    timeout = max(health.timeout * time_scale, _SHORTEST_TIMEOUT)
    while target.state not in (State.DRAINING, State.UNUSED):
        targets.checked(target, passed=await _passes(target, health.path, health.codes, timeout))
        await asyncio.sleep(interval)


async def _passes(target: Target, path: str, codes: frozenset[int], timeout: float) -> bool:
    connector = aiohttp.UnixConnector(str(target.socket), force_close=True)
    limit = aiohttp.ClientTimeout(total=timeout)
    try:
        async with (
            aiohttp.ClientSession(connector=connector, timeout=limit) as session,
            session.get(f"http://target{path}", allow_redirects=False) as answer,
        ):
            return answer.status in codes
    except (aiohttp.ClientError, OSError, TimeoutError):
        return False
