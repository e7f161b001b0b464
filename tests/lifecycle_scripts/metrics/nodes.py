"""Recorded output of real programs and drivers."""

import json
import time
from pathlib import Path
from typing import Any

from llm_fleet_node.metrics.machine import Machine
from llm_fleet_node.metrics.settings import Settings
from tests.lifecycle_scripts.step_node import file, program

SETTINGS = Settings(
    destination="cloudwatch",
    region="us-west-2",
    fleet="demo",
    cluster="train",
    group="trn1",
    role="Compute",
    node="i-0123456789abcdef0",
    instance_type="ml.trn1.32xlarge",
    namespace="LlmFleet/Nodes",
    log_group="/llm-fleet/metrics/train",
    remote_write_url=None,
    seconds=60,
    ask_slurm=False,
)

STAT = "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 50 0 50 350 50 0 0 0 0 0\ncpu1 50 0 50 350 50 0 0 0 0 0\nintr 1\n"
STAT_LATER = "cpu  150 0 150 1100 200 0 0 0 0 0\ncpu0 75 0 75 550 100 0 0 0 0 0\ncpu1 75 0 75 550 100 0 0 0 0 0\n"
MEMINFO = "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    250 kB\n"

NVIDIA_SMI = "97, 70000, 81559, 0\n0, 4, 81559, [N/A]\n0, 4, 81559, 2\n"
"""`nvidia-smi --query-gpu=… --format=csv,noheader,nounits`: nvidia-smi(1) writes `[N/A]` for missing values."""

LCTL = """\
llite.abcdefgh-ffff8f1b0c7e2000.stats=
snapshot_time             1700000000.123456789 secs.nsecs
start_time                1690000000.000000000 secs.nsecs
elapsed_time              10000000.123456789 secs.nsecs
read_bytes                1025 samples [bytes] 0 1048576 1073741824 112589999072870
write_bytes               10 samples [bytes] 4096 1048576 5242880
ioctl                     3 samples [reqs]
open                      12 samples [usecs] 5 800 4000 900000
"""

SQUEUE = """\
RUNNING|None|2026-11-22T09:00:00
RUNNING|None|2026-11-22T11:00:00
COMPLETING|None|2026-11-22T08:00:00
PENDING|Resources|2026-11-22T11:30:00
PENDING|Priority|2026-11-22T11:50:00
PENDING|ReqNodeNotAvail, UnavailableNodes:ip-10-1-0-7|2026-11-22T11:45:00
PENDING|Dependency|2026-11-20T00:00:00
PENDING|JobHeldUser|2026-11-01T00:00:00
PENDING|QOSMaxJobsPerUserLimit|2026-11-22T01:00:00
PENDING|AssocGrpGRES|2026-11-22T01:00:00
"""

SINFO = """\
ip-10-1-0-1|allocated|none
ip-10-1-0-1|allocated|none
ip-10-1-0-2|mixed|none
ip-10-1-0-3|idle|none
ip-10-1-0-4|idle*|none
ip-10-1-0-5|drained|llm-fleet: /fsx is not mounted | since 3
ip-10-1-0-6|draining|Action:Reboot
ip-10-1-0-7|down*|Not responding
trn-st-1|idle~|none
trn-dy-2|idle%|none
trn-dy-3|reserved|none
"""

NEURON_MONITOR: dict[str, Any] = {
    # An inf2.xlarge under load, as neuron-monitor of 2026 wrote it; identifiers left out.
    "neuron_hardware_info": {
        "logical_neuroncore_config": 1,
        "neuron_device_count": 1,
        "neuron_device_memory_size": 34359738368,
        "neuron_device_type": "inferentia2",
        "neuroncore_per_device_count": 2,
        "neuroncore_version": "v2",
    },
    "neuron_runtime_data": [
        {
            "pid": 2199,
            "report": {
                "neuroncore_counters": {
                    "neuroncores_in_use": {
                        "0": {"effective_flops": 875590474948, "neuroncore_utilization": 89.40087251059674},
                        "1": {"effective_flops": 0, "neuroncore_utilization": 0},
                    },
                    "period": 1.000665759,
                },
                "memory_used": {"neuron_runtime_used_bytes": {"host": 1166249984, "neuron_device": 3435973836}},
            },
        }
    ],
    "system_data": {
        "neuron_hw_counters": {
            "neuron_devices": [
                {"neuron_device_index": 0, "mem_ecc_corrected": 0, "mem_ecc_uncorrected": 0,
                 "sram_ecc_corrected": 0, "sram_ecc_uncorrected": 0}
            ]
        }
    },
}  # fmt: skip


def efa(root: Path, name: str, **counters: int) -> None:
    """An EFA interface with its counters, as the driver shows them in sysfs."""
    place = f"/sys/class/infiniband/{name}"
    file(root, f"{place}/device/vendor", "0x1d0f\n")
    for counter, value in counters.items():
        file(root, f"{place}/ports/1/hw_counters/{counter}", f"{value}\n")


def linux(root: Path, *, stat: str = STAT, mounts: str = "") -> Machine:
    """A machine with only Linux."""
    file(root, "/proc/stat", stat)
    file(root, "/proc/meminfo", MEMINFO)
    file(root, "/proc/loadavg", "3.00 2.00 1.00 1/100 4242\n")
    file(root, "/proc/uptime", "1234.5 99.0\n")
    file(root, "/proc/mounts", mounts)
    return Machine(root)


def says(root: Path, name: str, text: str, *, expects: str = "") -> None:
    """A program that prints `text` if its arguments contain `expects`."""
    program(root, name, f"if {expects!r} not in ' '.join(a): bad()\nprint({text!r}, end='')")


def neuron_monitor(root: Path, *, document: Any = NEURON_MONITOR) -> None:
    """A neuron-monitor that streams documents until it is killed, as the real one does."""
    body = "import json, time\nassert json.load(open(a[a.index('-c') + 1]))['period'] == '5s'\n"
    program(
        root, "neuron-monitor", f"{body}while True:\n    print({json.dumps(document)!r}, flush=True)\n    time.sleep(9)"
    )


class Clock:
    """A monotonic clock that the test sets."""

    def __init__(self) -> None:
        self.now = time.monotonic()

    def __call__(self) -> float:
        return self.now
