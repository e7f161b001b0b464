"""The clock is right: munge refuses credentials of nodes whose clocks differ, and says nothing of clocks."""

from __future__ import annotations

import os

from llm_fleet_node import services
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.node import Node
from llm_fleet_node.step import EVERY_ROLE, Step
from llm_fleet_node.time_source import ACCURACY, clock_offset, time_service_offset

_MOST = 150
"""Seconds. munge believes credentials for 300 s (MUNGE_DEFAULT_TTL of munge.h), and two nodes may be off in opposite
directions. AWS refuses requests that are off by 300 s too."""
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
        # It may have been started a moment ago, or be missing: nobody waits for it when S3 tells the time as well.
        said, by = clock_offset(node), f"S3's Date, within {ACCURACY:g} s"
    if said is None:
        node.say("nobody here tells the time: no time service has set the clock, and S3 does not answer")
        return
    if abs(said) > _MOST:
        way = "ahead" if said > 0 else "behind"
        fail(Code.CLOCK, f"the clock is {abs(said):.0f} s {way} ({by}); munge allows 300 s between two nodes")


def _has(host: Host, unit: str) -> bool:
    """Return whether the node has `unit`, and no one has masked it, by this name or another that it has."""
    paths = [host.path(f"{folder}/{unit}") for folder in _UNIT_FOLDERS]
    targets = [str(path.readlink()) for path in paths if path.is_symlink()]
    if "/dev/null" in targets or not (targets or any(path.exists() for path in paths)):
        return False
    # Debian's chronyd.service is another name of chrony.service, and is still there when that is masked.
    others = {os.path.basename(target) for target in targets} - {unit}
    return all(_has(host, other) for other in others)


STEP = Step(
    name="clock",
    summary="the clock is right",
    roles=EVERY_ROLE,
    apply=_apply,
    verify=_verify,
    timeout=60,
    retries=1,
)
