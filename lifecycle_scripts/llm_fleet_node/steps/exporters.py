"""The image's Prometheus exporters run and serve metrics. Nothing is downloaded.

Jobs do not need them: a node whose exporter does not answer works, and is reported as degraded.
"""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.exporters.kinds import EXPORTERS, Exporter
from llm_fleet_node.exporters.scrape import metrics
from llm_fleet_node.failures import Code
from llm_fleet_node.node import Node
from llm_fleet_node.services import is_active, needs_reload, reload_units
from llm_fleet_node.step import EVERY_ROLE, Step
from llm_fleet_node.waiting import wait_for

_FOLDER = "/etc/systemd/system"
_SECONDS = 20


def _apply(node: Node) -> None:
    """Start each exporter that this node can run, unless its port already serves metrics."""
    for exporter in EXPORTERS:
        absent = exporter.absent(node.host)
        if absent:
            node.say(f"{exporter.name} exporter: absent, {absent}")
        elif _is_foreign(node, exporter):
            node.say(f"{exporter.name} exporter: port {exporter.port} already serves metrics, from another unit")
        else:
            _start(node, exporter)


def _verify(node: Node) -> None:
    """Verify that each serves metrics."""
    for exporter in EXPORTERS:
        if exporter.absent(node.host) is None:
            _check(node, exporter)


def _skip(node: Node) -> Optional[str]:
    """Skipped if the image has none; otherwise the log lists the missing ones."""
    absent = {exporter.name: exporter.absent(node.host) for exporter in EXPORTERS}
    if not all(absent.values()):
        return None
    return "no exporter: " + "; ".join(f"{name}: {why}" for name, why in absent.items())


def _start(node: Node, exporter: Exporter) -> None:
    host, unit = node.host, exporter.unit(node.host)
    if unit == exporter.own_unit:
        path, text = f"{_FOLDER}/{unit}", exporter.unit_file(host)
        if host.read(path) not in (None, text) and is_active(host, unit):
            # Before the file is written: after a kill, the next run finds it stopped, and starts it.
            host.run("systemctl", "stop", unit, changes=f"stopped {unit}")
        host.write(path, text)
    # The link that `systemctl enable` would make. That also reloads all units and, on Debian, checks old init scripts,
    # which takes a quarter of a second.
    host.link(f"{_FOLDER}/multi-user.target.wants/{unit}", exporter.unit_path(host))
    if not is_active(host, unit):
        if needs_reload(host, unit):
            reload_units(host)
        host.run("systemctl", "start", unit, changes=f"started {unit}")


def _is_foreign(node: Node, exporter: Exporter) -> bool:
    return not is_active(node.host, exporter.unit(node.host)) and metrics(exporter.port) > 0


def _check(node: Node, exporter: Exporter) -> None:
    what = f"metric on port {exporter.port} ({exporter.unit(node.host)})"
    wait_for(what, lambda: metrics(exporter.port), seconds=_SECONDS, code=Code.EXPORTER)


STEP = Step(
    name="exporters",
    summary="the Prometheus exporters of the image serve metrics",
    roles=EVERY_ROLE,
    apply=_apply,
    verify=_verify,
    # Jobs do not need it, so it must not delay the first one.
    after=("neuron_devices", "gpu_devices", "efa_devices", "slurm_ready"),
    skip=_skip,
    timeout=120,
    is_for_jobs=False,
)
