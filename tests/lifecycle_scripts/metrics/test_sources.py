"""The values of each source from real output of programs and drivers, and for missing, failing or hanging ones."""

import copy
import json
import os
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.catalog.monitoring import cluster_metrics
from llm_fleet_node.metrics.machine import Machine, Unreadable
from llm_fleet_node.metrics.names import METRICS, prometheus_name
from llm_fleet_node.metrics.rates import Rates
from llm_fleet_node.metrics.sources import lustre, node
from llm_fleet_node.metrics.sources.efa import read_efa
from llm_fleet_node.metrics.sources.lustre import read_lustre
from llm_fleet_node.metrics.sources.neuron import of_document, read_neuron
from llm_fleet_node.metrics.sources.node import read_node
from llm_fleet_node.metrics.sources.nvidia import read_gpus
from llm_fleet_node.metrics.sources.slurm import nodes_reading, queue_reading, read_slurm
from tests.lifecycle_scripts.metrics.nodes import (
    LCTL,
    NEURON_MONITOR,
    NVIDIA_SMI,
    SINFO,
    SQUEUE,
    STAT_LATER,
    Clock,
    efa,
    linux,
    neuron_monitor,
    says,
)
from tests.lifecycle_scripts.step_node import file, program

NOON = datetime(2026, 11, 22, 12, 0, 0)


def test_names_and_units_are_those_of_dashboards_and_alarms() -> None:
    catalog = cluster_metrics()
    assert {key: (metric.name, metric.unit) for key, metric in METRICS.items()} == {
        key: (metric.name, metric.unit) for key, metric in catalog.items()
    }
    assert {key for key, metric in METRICS.items() if metric.of_cluster} == {
        key for key, metric in catalog.items() if metric.source == "slurm"
    }
    for key, metric in catalog.items():
        assert prometheus_name(key) == metric.prometheus_name
        assert metric.dimensions[0] == ("Cluster",), "an alarm cannot look for groups"


def test_metrics_of_a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rates = Rates()
    first = read_node(linux(tmp_path), rates).values
    assert "cpu_utilization" not in first, "the first reading has nothing to compare with"
    assert (first["nodes_reporting"], first["load_per_cpu"], first["uptime"]) == (1.0, 1.5, 1234.5)
    assert first["memory_used"] == 75.0
    assert 0 < first["root_disk_used"] < 100
    assert "local_disk_used" not in first
    file(tmp_path, "/opt/dlami/nvme/x", "")
    assert "local_disk_used" not in read_node(linux(tmp_path), rates).values, "a folder on the root disk is not a disk"

    def is_mounted(path: Path) -> bool:
        return str(path).endswith("/opt/dlami/nvme")

    monkeypatch.setattr(node.os.path, "ismount", is_mounted)
    later = read_node(linux(tmp_path, stat=STAT_LATER), rates).values
    assert 0 < later["local_disk_used"] < 100


def test_utilization_counts_neither_idle_nor_iowait(tmp_path: Path) -> None:
    rates = Rates()
    read_node(linux(tmp_path), rates)
    later = read_node(linux(tmp_path, stat=STAT_LATER), rates).values
    assert later["cpu_utilization"] == pytest.approx(100 * 100 / 600)


def test_a_machine_without_proc_is_broken_and_not_idle(tmp_path: Path) -> None:
    assert read_node(Machine(tmp_path), Rates()).broken == {"node"}


def test_gpus(tmp_path: Path) -> None:
    rates = Rates()
    assert read_gpus(linux(tmp_path), rates).absent == {"gpu": "this node has no GPU"}
    file(tmp_path, "/proc/driver/nvidia/gpus/0000:10:1c.0/information", "")
    assert read_gpus(Machine(tmp_path), rates).broken == {"gpu"}
    says(tmp_path, "nvidia-smi", NVIDIA_SMI, expects="--query-gpu=utilization.gpu,memory.used,memory.total,ecc.")
    first = read_gpus(Machine(tmp_path), rates)
    assert first.values["accelerators"] == 3.0
    assert first.values["accelerator_utilization"] == pytest.approx(97 / 3)
    assert first.values["accelerators_idle"] == 2.0
    assert first.values["accelerator_memory_used"] == pytest.approx(100 * 70008 / (3 * 81559))
    assert first.details == {"AcceleratorUtilizations": [97.0, 0.0, 0.0]}
    says(tmp_path, "nvidia-smi", NVIDIA_SMI.replace("81559, 2", "81559, 5"))
    assert read_gpus(Machine(tmp_path), rates).values["accelerator_errors"] == 3.0
    program(tmp_path, "nvidia-smi", "print('NVRM: GPU is lost', file=sys.stderr)\nsys.exit(15)")
    assert read_gpus(Machine(tmp_path), rates).absent == {"gpu": "`nvidia-smi` ended with 15: NVRM: GPU is lost"}


def test_neuron_devices(tmp_path: Path) -> None:
    rates = Rates()
    assert read_neuron(linux(tmp_path), rates, tmp_path).absent == {"neuron": "this node has no Neuron device"}
    file(tmp_path, "/dev/neuron0", "")
    assert read_neuron(Machine(tmp_path), rates, tmp_path).absent == {"neuron": "this node has no `neuron-monitor`"}
    neuron_monitor(tmp_path)
    began = time.monotonic()
    reported = read_neuron(Machine(tmp_path), rates, tmp_path)
    assert time.monotonic() - began < 5, "the program streams forever, and one document is enough"
    assert reported.values["accelerators"] == 1.0
    assert reported.values["accelerator_utilization"] == pytest.approx(44.7, abs=0.01)
    assert reported.values["accelerators_idle"] == 0.0
    assert reported.values["accelerator_memory_used"] == pytest.approx(10.0)
    program(tmp_path, "neuron-monitor", "print('no driver')")
    assert read_neuron(Machine(tmp_path), rates, tmp_path).absent == {"neuron": "neuron-monitor wrote no JSON"}


def _neuron(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(NEURON_MONITOR), **changes}


def test_unused_neuron_devices_are_idle() -> None:
    none: list[Any] = []
    for no_one in (none, None):
        reported = of_document(_neuron(neuron_runtime_data=no_one), Rates())
        assert (reported.values["accelerator_utilization"], reported.values["accelerators_idle"]) == (0.0, 1.0)


def test_uncorrected_errors_are_counted_since_the_last_reading() -> None:
    rates = Rates()
    of_document(_neuron(), rates)
    later = _neuron()
    later["system_data"]["neuron_hw_counters"]["neuron_devices"][0]["sram_ecc_uncorrected"] = 2
    assert of_document(later, rates).values["accelerator_errors"] == 2.0


def test_cores_of_sixteen_devices_are_counted_by_device() -> None:
    hardware = {"neuron_device_count": 16, "neuroncore_per_device_count": 2, "neuron_device_memory_size": 1}
    cores = {str(core): {"neuroncore_utilization": 50.0} for core in range(8)}
    runs = [{"report": {"neuroncore_counters": {"neuroncores_in_use": cores}, "memory_used": None}}]
    reported = of_document({"neuron_hardware_info": hardware, "neuron_runtime_data": runs}, Rates())
    assert reported.values["accelerator_utilization"] == pytest.approx(12.5)
    assert reported.values["accelerators_idle"] == 12.0


@pytest.mark.parametrize("document", [None, [], {}, {"neuron_hardware_info": {"error": "no driver"}}])
def test_a_document_without_devices_is_an_error(document: Any) -> None:
    assert of_document(document, Rates()).broken == {"neuron"}


def test_efa(tmp_path: Path) -> None:
    clock = Clock()
    rates = Rates(clock)
    assert read_efa(linux(tmp_path), rates).absent == {"efa": "this node has no EFA interface"}
    file(tmp_path, "/sys/class/infiniband/mlx5_0/device/vendor", "0x15b3\n")
    assert read_efa(Machine(tmp_path), rates).absent == {"efa": "this node has no EFA interface"}
    for name in ("rdmap16s27", "rdmap32s27"):
        efa(tmp_path, name, rx_bytes=1000, tx_bytes=500, retrans_pkts=7, rx_drops=1, rdma_read_wr_err=0)
    assert read_efa(Machine(tmp_path), rates).values == {}
    efa(tmp_path, "rdmap16s27", rx_bytes=61000, tx_bytes=30500, retrans_pkts=10, rx_drops=3, rdma_read_wr_err=1)
    clock.now += 60
    reported = read_efa(Machine(tmp_path), rates)
    assert reported.values == {"efa_received": 1000.0, "efa_sent": 500.0, "efa_retransmitted": 3.0, "efa_errors": 3.0}
    assert reported.details == {"EfaInterfaces": 2, "EfaErrorsByKind": {"rx_drops": 2.0, "rdma_read_wr_err": 1.0}}
    efa(tmp_path, "rdmap16s27", rx_bytes=0, tx_bytes=0, retrans_pkts=0, rx_drops=0, rdma_read_wr_err=0)
    assert "efa_received" not in read_efa(Machine(tmp_path), rates).values, "a reloaded driver counts from 0"


MOUNTS = "proc /proc proc rw 0 0\n10.1.0.9@tcp:/abc /fsx lustre rw,flock 0 0\n"


def test_lustre(tmp_path: Path) -> None:
    clock = Clock()
    rates = Rates(clock)
    assert read_lustre(linux(tmp_path), rates).absent == {"lustre": "this node mounts no Lustre file system"}
    says(tmp_path, "df", "Use%\n 87%\n", expects="--output=pcent /fsx")
    says(tmp_path, "lctl", LCTL, expects="get_param llite.*.stats")
    machine = linux(tmp_path, mounts=MOUNTS)
    assert read_lustre(machine, rates).values == {"lustre_answering": 1.0, "lustre_used": 87.0}
    says(tmp_path, "lctl", LCTL.replace("5242880", "11242880"))
    clock.now += 60
    reported = read_lustre(machine, rates).values
    assert (reported["lustre_read"], reported["lustre_written"]) == (0.0, 100000.0)


def test_a_hanging_lustre_mount_is_reported_and_blocks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lustre, "_SECONDS", 0.3)
    program(tmp_path, "df", "signal.pause()")
    machine = linux(tmp_path, mounts=MOUNTS)
    began = time.monotonic()
    reported = read_lustre(machine, Rates())
    assert time.monotonic() - began < 3
    assert reported.values == {"lustre_answering": 0.0}
    assert reported.details == {"LustreSilent": {"/fsx": "`df` did not answer within 0.3 s"}}


def test_a_program_that_cannot_be_killed_is_not_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "df", f"open({str(tmp_path)!r} + '/started', 'a').write('x')\nsignal.pause()")
    machine = Machine(tmp_path)
    process = machine.start("df", "/fsx")
    # Like a process that waits in the kernel: the kill is pending while the server does not answer.
    monkeypatch.setattr(process, "kill", lambda: None)
    monkeypatch.setattr("llm_fleet_node.metrics.machine._GRACE", 0.05)
    machine.end(process, "df /fsx")
    with pytest.raises(Unreadable, match=f"has been hanging since an earlier minute .process {process.pid}"):
        machine.run("df", "/fsx")
    os.kill(process.pid, 9)
    process.wait()
    says(tmp_path, "df", "well again")
    assert machine.run("df", "/fsx") == "well again"


def test_the_queue_metrics_have_waiting_jobs_and_their_waiting_time() -> None:
    reported = queue_reading(SQUEUE.splitlines(), NOON).values
    assert reported == {
        "slurm_jobs_running": 3.0,
        "slurm_jobs_pending": 3.0,
        "slurm_jobs_limited": 2.0,
        "slurm_jobs_held": 2.0,
        "slurm_longest_wait": 1800.0,
    }
    assert queue_reading([], NOON).values["slurm_longest_wait"] == 0.0


def test_nodes_by_state_with_reasons() -> None:
    reported = nodes_reading(SINFO.splitlines())
    assert reported.values == {
        "slurm_nodes_allocated": 2.0,
        "slurm_nodes_idle": 1.0,
        "slurm_nodes_drained": 2.0,
        "slurm_nodes_down": 2.0,
    }
    assert reported.details["SlurmReasons"]["ip-10-1-0-5"] == "drained: llm-fleet: /fsx is not mounted | since 3"
    assert set(reported.details["SlurmReasons"]) == {f"ip-10-1-0-{n}" for n in (4, 5, 6, 7)}


def test_the_reasons_of_2000_drained_nodes_stay_below_the_size_of_an_event() -> None:
    lines = [f"ip-10-{n // 250}-0-{n % 250}|drained|{'x' * 500}" for n in range(2000)]
    reported = nodes_reading(lines)
    assert reported.values["slurm_nodes_drained"] == 2000.0
    assert len(json.dumps(reported.details)) < 10_000


def test_slurm_is_queried_in_utc_and_no_answer_is_an_error(tmp_path: Path) -> None:
    utc = "assert os.environ['TZ'] == 'UTC' and os.environ['SLURM_TIME_FORMAT'] == 'standard'\n"
    program(tmp_path, "squeue", f"{utc}assert '--format=%T|%r|%V' in a\nprint({SQUEUE!r}, end='')")
    says(tmp_path, "sinfo", SINFO, expects="--format=%N|%T|%E")
    reported = read_slurm(Machine(tmp_path), NOON).values
    assert (reported["slurm_longest_wait"], reported["slurm_nodes_idle"]) == (1800.0, 1.0)
    program(
        tmp_path,
        "squeue",
        "print('slurm_load_jobs error: Unable to contact slurm controller', file=sys.stderr)\nsys.exit(1)",
    )
    assert "Unable to contact slurm controller" in read_slurm(Machine(tmp_path), NOON).absent["slurm"]
