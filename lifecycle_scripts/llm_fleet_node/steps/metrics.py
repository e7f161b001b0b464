"""The node sends its metrics to CloudWatch or Prometheus each minute. Nothing is downloaded.

Jobs do not need it: a node whose metrics are rejected works, and is reported as degraded. Otherwise an AWS service that
is unreachable for an hour would make every node fail that is replaced in that hour.
"""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.node import Node
from llm_fleet_node.services import is_active, needs_reload, reload_units
from llm_fleet_node.step import EVERY_ROLE, Step
from llm_fleet_node.waiting import wait_for
from llm_fleet_node.watching import program
from llm_fleet_node.watching.program import UNIT, UNIT_PATH, WANTED, Looked

_SECONDS = 45
"""Timeout of the first values: neuron-monitor needs 5 s, and each call to AWS can take 10 s."""


def _apply(node: Node) -> None:
    host = node.host
    if node.manifest.metrics is None:
        _take_away(node)
        return
    files = program.files(node)
    if any(host.read(path) != text for path, text in files.items()) and is_active(host, UNIT):
        # Before a file is written: after a kill, the next run finds it stopped, and starts it.
        host.run("systemctl", "stop", UNIT, changes=f"stopped {UNIT}")
    for path, text in files.items():
        host.write(path, text)
    host.link(WANTED, UNIT_PATH)
    if not is_active(host, UNIT):
        if needs_reload(host, UNIT):
            reload_units(host)
        host.run("systemctl", "start", UNIT, changes=f"started {UNIT}")


def _take_away(node: Node) -> None:
    host = node.host
    if is_active(host, UNIT):
        host.run("systemctl", "stop", UNIT, changes=f"stopped {UNIT}")
    for path in (WANTED, UNIT_PATH):
        host.remove(path)


def _verify(node: Node) -> None:
    """Verify that metrics were read and published."""
    host = node.host
    if node.manifest.metrics is None:
        if host.path(UNIT_PATH).exists():
            fail(Code.METRICS_SERVICE, f"{UNIT_PATH} exists, but metrics are off in this fleet")
        return
    changed = [path for path, text in program.files(node).items() if host.read(path) != text]
    if changed:
        fail(Code.METRICS_SERVICE, f"{', '.join(changed)} does not match this bundle")
    if not is_active(host, UNIT):
        fail(Code.METRICS_SERVICE, f"{UNIT} does not run")
    what = f"metric of {UNIT} in {program.STATUS}"
    looked = wait_for(what, lambda: program.looked(node), seconds=_SECONDS, code=Code.METRICS_SERVICE)
    assert looked is not None
    _check(node, looked)


def _check(node: Node, looked: Looked) -> None:
    node.say(f"metrics: {looked.values} values" + "".join(f"; {why}" for why in looked.absent.values()))
    if looked.trouble is not None:
        fail(Code.METRICS_REJECTED, looked.trouble)
    if looked.broken:
        fail(Code.METRICS_SOURCE, "; ".join(f"{name}: {looked.absent[name]}" for name in looked.broken))


def _skip(node: Node) -> Optional[str]:
    """Not skipped if an earlier bundle has set it up: it is removed."""
    if node.manifest.metrics is None and not node.host.path(UNIT_PATH).exists():
        return "metrics are off in this fleet"
    return None


STEP = Step(
    name="metrics",
    summary="node metrics are published each minute",
    roles=EVERY_ROLE,
    apply=_apply,
    verify=_verify,
    after=("exporters", "slurm_ready", "mount_lustre", "neuron_devices", "gpu_devices", "efa_devices", "clock"),
    skip=_skip,
    timeout=120,
    is_for_jobs=False,
)
