"""Each minute the node measures itself, and sends it to CloudWatch or Prometheus. Nothing is downloaded.

Jobs need none of it: a node whose values are not taken works, and is told as degraded. A service of AWS that is out of
reach for an hour would otherwise keep every node from coming back that is replaced in that hour.
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
"""The first values come at once; neuron-monitor needs 5 s, and each call to AWS may take 10."""


def _apply(node: Node) -> None:
    host = node.host
    if node.manifest.metrics is None:
        _take_away(node)
        return
    files = program.files(node)
    if any(host.read(path) != text for path, text in files.items()) and is_active(host, UNIT):
        # Before a file is written: a run that is killed in between finds it stopped, and starts it anew.
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
    """Prove that values were read, and that they were taken."""
    host = node.host
    if node.manifest.metrics is None:
        if host.path(UNIT_PATH).exists():
            fail(Code.METRICS_SERVICE, f"{UNIT_PATH} is there, and the fleet asks for no metrics")
        return
    changed = [path for path, text in program.files(node).items() if host.read(path) != text]
    if changed:
        fail(Code.METRICS_SERVICE, f"{', '.join(changed)} is not what this bundle says")
    if not is_active(host, UNIT):
        fail(Code.METRICS_SERVICE, f"{UNIT} does not run")
    what = f"value in {program.STATUS} that {UNIT} has measured"
    looked = wait_for(what, lambda: program.looked(node), seconds=_SECONDS, code=Code.METRICS_SERVICE)
    assert looked is not None
    _check(node, looked)


def _check(node: Node, looked: Looked) -> None:
    node.say(f"metrics: {looked.values} values" + "".join(f"; {why}" for why in looked.absent.values()))
    if looked.trouble is not None:
        fail(Code.METRICS_NOT_TAKEN, looked.trouble)
    if looked.broken:
        fail(Code.METRICS_SOURCE, "; ".join(f"{name}: {looked.absent[name]}" for name in looked.broken))


def _skip(node: Node) -> Optional[str]:
    """One that an earlier bundle has set up is taken away."""
    if node.manifest.metrics is None and not node.host.path(UNIT_PATH).exists():
        return "the fleet asks for no metrics"
    return None


STEP = Step(
    name="metrics",
    summary="the node tells each minute how it is",
    roles=EVERY_ROLE,
    apply=_apply,
    verify=_verify,
    after=("exporters", "slurm_ready", "mount_lustre", "neuron_devices", "gpu_devices", "efa_devices", "clock"),
    skip=_skip,
    timeout=120,
    is_for_jobs=False,
)
