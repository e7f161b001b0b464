"""Neuron devices, from neuron-monitor, which writes a JSON document each period.

Format: awsdocs-neuron.readthedocs-hosted.com/en/latest/tools/neuron-sys-tools/neuron-monitor-user-guide.html
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from pathlib import Path
from typing import Any, Optional, cast

from llm_fleet_node.metrics.machine import Machine, Unreadable
from llm_fleet_node.metrics.rates import Rates, known
from llm_fleet_node.metrics.reading import Reading, nothing, trouble

SOURCE = "neuron"
_IDLE = 1.0
_DEADLINE = 20.0
_CONFIGURATION = {
    "period": "5s",
    "neuron_runtimes": [
        {"tag_filter": ".*", "metrics": [{"type": "neuroncore_counters"}, {"type": "memory_used"}]},
    ],
    "system_metrics": [{"type": "neuron_hw_counters"}],
}
"""Seconds of a period, over which utilization is averaged: a minute is sampled by five seconds."""


def read_neuron(machine: Machine, rates: Rates, folder: Path) -> Reading:
    """Return the metrics of the node's Neuron devices; absent if it has none. `folder`: for a settings file."""
    if not machine.paths("/dev/neuron[0-9]*"):
        return nothing(SOURCE, "this node has no Neuron device")
    try:
        return of_document(_document(machine, folder), rates)
    except Unreadable as error:
        return trouble(SOURCE, str(error))


def of_document(document: Any, rates: Rates) -> Reading:
    """Return the metrics in a document of neuron-monitor. Without a process on the devices it has no utilization:
    they are idle."""
    hardware = _dict(_dict(document).get("neuron_hardware_info"))
    devices, per_device = _whole(hardware, "neuron_device_count"), _whole(hardware, "neuroncore_per_device_count")
    if not devices or not per_device:
        return trouble(SOURCE, "neuron-monitor reports no device")
    reports = [_dict(_dict(run).get("report")) for run in _list(_dict(document).get("neuron_runtime_data"))]
    of_devices = _by_device(reports, devices, _cores_per_device(hardware, reports, devices, per_device))
    whole = devices * float(hardware.get("neuron_device_memory_size") or 0)
    errors = _uncorrected(_dict(document))
    values: dict[str, Optional[float]] = {
        "accelerators": float(devices),
        "accelerator_utilization": sum(of_devices) / devices,
        "accelerators_idle": float(sum(one < _IDLE for one in of_devices)),
        "accelerator_memory_used": 100.0 * sum(map(_memory, reports)) / whole if whole else None,
        "accelerator_errors": None if errors is None else rates.rise("neuron_errors", errors),
    }
    return Reading(known(values), {"AcceleratorUtilizations": [round(one, 1) for one in of_devices]})


def _cores_per_device(hardware: dict[str, Any], reports: list[dict[str, Any]], devices: int, physical: int) -> int:
    """A logical NeuronCore consists of several physical ones. assumption: neuron-monitor-core-numbers

    The numbers are taken as logical ones unless a core has a higher number.
    """
    logical = max(1, physical // max(1, _whole(hardware, "logical_neuroncore_config") or 1))
    last = max((core for report in reports for core in _cores(report)), default=0)
    return logical if last < logical * devices else physical


def _by_device(reports: list[dict[str, Any]], devices: int, per_device: int) -> list[float]:
    """Return the mean utilization of each device's cores. Several processes can use a core in turn."""
    used: dict[int, float] = {}
    for report in reports:
        for core, utilization in _cores(report).items():
            used[core] = min(100.0, used.get(core, 0.0) + utilization)
    found = [0.0] * devices
    for core, utilization in used.items():
        if core // per_device < devices:
            found[core // per_device] += utilization / per_device
    return found


def _cores(report: dict[str, Any]) -> dict[int, float]:
    in_use = _dict(_dict(report.get("neuroncore_counters")).get("neuroncores_in_use"))
    found = {core: _dict(reported).get("neuroncore_utilization") for core, reported in in_use.items() if core.isdigit()}
    return {int(core): float(used) for core, used in found.items() if isinstance(used, (int, float))}


def _memory(report: dict[str, Any]) -> float:
    """Key of a device's number; a sample of an early release had `device`."""
    used = _dict(_dict(report.get("memory_used")).get("neuron_runtime_used_bytes"))
    return float(used.get("neuron_device", used.get("device")) or 0)


def _uncorrected(document: dict[str, Any]) -> Optional[float]:
    counters = _dict(_dict(document.get("system_data")).get("neuron_hw_counters"))
    reported = [_dict(device) for device in _list(counters.get("neuron_devices"))]
    if not reported:
        return None
    return float(sum((device.get(f"{kind}_ecc_uncorrected") or 0) for device in reported for kind in ("mem", "sram")))


def _document(machine: Machine, folder: Path) -> Any:
    settings = folder / "neuron-monitor.json"
    try:
        settings.write_text(json.dumps(_CONFIGURATION), encoding="utf-8")
    except OSError as error:
        raise Unreadable(f"{settings} cannot be written: {error.strerror}") from error
    process = machine.start("neuron-monitor", "-c", str(settings))
    try:
        line = _first_line(process)
    finally:
        machine.end(process, f"neuron-monitor -c {settings}")
    try:
        return json.loads(line)
    except ValueError as error:
        raise Unreadable("neuron-monitor wrote no JSON") from error


def _first_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    found, deadline = b"", time.monotonic() + _DEADLINE
    while b"\n" not in found:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
            raise Unreadable(f"neuron-monitor printed nothing within {_DEADLINE:g} s")
        part = os.read(process.stdout.fileno(), 65536)
        if not part:
            break  # it ended; its last line may be incomplete
        found += part
    return found.partition(b"\n")[0]


def _dict(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _whole(holder: dict[str, Any], key: str) -> int:
    value = holder.get(key)
    return value if isinstance(value, int) else 0
