"""NVIDIA GPUs, from nvidia-smi."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.metrics.machine import Machine, Unreadable
from llm_fleet_node.metrics.rates import Rates, known
from llm_fleet_node.metrics.reading import Reading, nothing, trouble

SOURCE = "gpu"
_FIELDS = "utilization.gpu,memory.used,memory.total,ecc.errors.uncorrected.volatile.total"
"""nvidia-smi(1), `--help-query-gpu`. A value that a GPU lacks is `[N/A]`."""
_IDLE = 1.0


def read_gpus(machine: Machine, rates: Rates) -> Reading:
    """Return the metrics of the node's GPUs; absent if it has none."""
    if not machine.paths("/proc/driver/nvidia/gpus/*"):
        return nothing(SOURCE, "this node has no GPU")
    try:
        said = machine.run("nvidia-smi", f"--query-gpu={_FIELDS}", "--format=csv,noheader,nounits", seconds=20)
    except Unreadable as error:
        return trouble(SOURCE, str(error))
    return of_rows([row for row in map(_row, said.splitlines()) if row is not None], rates)


def of_rows(rows: list[list[Optional[float]]], rates: Rates) -> Reading:
    """Return the metrics of `rows`, one for each GPU."""
    if not rows:
        return trouble(SOURCE, "nvidia-smi lists no GPU")
    used = [row[0] for row in rows if row[0] is not None]
    memory = [(row[1], row[2]) for row in rows if row[1] is not None and row[2]]
    whole = sum(total or 0.0 for _, total in memory)
    errors = [row[3] for row in rows if row[3] is not None]
    values: dict[str, Optional[float]] = {
        "accelerators": float(len(rows)),
        "accelerator_utilization": sum(used) / len(used) if used else None,
        "accelerators_idle": float(sum(one < _IDLE for one in used)) if used else None,
        "accelerator_memory_used": 100.0 * sum(one or 0.0 for one, _ in memory) / whole if whole else None,
        "accelerator_errors": rates.rise("gpu_errors", sum(errors)) if errors else None,
    }
    return Reading(known(values), {"AcceleratorUtilizations": [round(one, 1) for one in used]})


def _row(line: str) -> Optional[list[Optional[float]]]:
    parts = [part.strip() for part in line.split(",")]
    return [_number(part) for part in parts] if len(parts) == len(_FIELDS.split(",")) else None


def _number(text: str) -> Optional[float]:
    try:
        return float(text)
    except ValueError:  # [N/A], [Not Supported], [GPU requires reset]
        return None
