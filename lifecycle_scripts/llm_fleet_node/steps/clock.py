"""The clock is synchronized: munge rejects credentials of nodes whose clocks differ, without mentioning clocks."""

from __future__ import annotations

import os

from llm_fleet_node import services
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.node import Node
from llm_fleet_node.step import EVERY_ROLE, Step
from llm_fleet_node.time_source import ACCURACY, clock_offset, time_service_offset

_MOST = 150
"""Seconds. munge accepts credentials for 300 s (MUNGE_DEFAULT_TTL in munge.h), and two nodes can be off in opposite
directions. AWS also rejects requests that are off by 300 s."""
_SERVICES = ("chrony.service", "chronyd.service", "systemd-timesyncd.service")
_UNIT_FOLDERS = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")


def _apply(node: Node) -> None:
    if time_service_offset(node.host) is not None:
        return
    for unit in _SERVICES:
        if _has(node.host, unit):
            services.run_unit(node.host, unit)
            return


def _verify(node: Node) -> None:
    said = time_service_offset(node.host)
    by = "the time service"
    if said is None:
        # The time service may have just started, or be missing: do not wait for it, because S3 also has the time.
        said, by = clock_offset(node), f"S3's Date, within {ACCURACY:g} s"
    if said is None:
        node.say("the clock could not be checked: no time service has set it, and S3 does not answer")
        return
    if abs(said) > _MOST:
        way = "ahead" if said > 0 else "behind"
        fail(Code.CLOCK, f"the clock is {abs(said):.0f} s {way} ({by}); munge allows 300 s between two nodes")


def _has(host: Host, unit: str) -> bool:
    """Return whether the node has `unit`, not masked by this or an alias name."""
    paths = [host.path(f"{folder}/{unit}") for folder in _UNIT_FOLDERS]
    targets = [str(path.readlink()) for path in paths if path.is_symlink()]
    if "/dev/null" in targets or not (targets or any(path.exists() for path in paths)):
        return False
    # Debian's chronyd.service is an alias of chrony.service, and still exists when that is masked.
    others = {os.path.basename(target) for target in targets} - {unit}
    return all(_has(host, other) for other in others)


STEP = Step(
    name="clock",
    summary="the clock is synchronized",
    roles=EVERY_ROLE,
    apply=_apply,
    verify=_verify,
    timeout=60,
    retries=1,
)
