"""The names of metrics in CloudWatch and Prometheus.

They are the same as in `llm_fleet/catalog/data/cluster_metrics.json`, from which dashboards and alarms are made; a test
compares both.
"""

from __future__ import annotations

from dataclasses import dataclass

COUNT, PERCENT, SECONDS, RATE, NONE = "Count", "Percent", "Seconds", "Bytes/Second", "None"
"""CloudWatch units."""
_SUFFIXES = {PERCENT: "_percent", RATE: "_bytes_per_second", SECONDS: "_seconds"}


@dataclass(frozen=True)
class Metric:
    """The names and the unit of a metric."""

    name: str
    """Its name in CloudWatch."""
    unit: str
    of_cluster: bool = False
    """Whether it belongs to the whole cluster, and not to a group."""


METRICS = {
    "nodes_reporting": Metric("NodesReporting", COUNT),
    "cpu_utilization": Metric("CpuUtilization", PERCENT),
    "load_per_cpu": Metric("LoadPerCpu", NONE),
    "memory_used": Metric("MemoryUsed", PERCENT),
    "root_disk_used": Metric("RootDiskUsed", PERCENT),
    "local_disk_used": Metric("LocalDiskUsed", PERCENT),
    "uptime": Metric("Uptime", SECONDS),
    "accelerators": Metric("Accelerators", COUNT),
    "accelerator_utilization": Metric("AcceleratorUtilization", PERCENT),
    "accelerators_idle": Metric("AcceleratorsIdle", COUNT),
    "accelerator_memory_used": Metric("AcceleratorMemoryUsed", PERCENT),
    "accelerator_errors": Metric("AcceleratorErrors", COUNT),
    "efa_received": Metric("EfaReceived", RATE),
    "efa_sent": Metric("EfaSent", RATE),
    "efa_retransmitted": Metric("EfaRetransmitted", COUNT),
    "efa_errors": Metric("EfaErrors", COUNT),
    "lustre_answering": Metric("LustreAnswering", COUNT),
    "lustre_used": Metric("LustreUsed", PERCENT),
    "lustre_read": Metric("LustreRead", RATE),
    "lustre_written": Metric("LustreWritten", RATE),
    "slurm_jobs_running": Metric("SlurmJobsRunning", COUNT, of_cluster=True),
    "slurm_jobs_pending": Metric("SlurmJobsPending", COUNT, of_cluster=True),
    "slurm_jobs_limited": Metric("SlurmJobsLimited", COUNT, of_cluster=True),
    "slurm_jobs_held": Metric("SlurmJobsHeld", COUNT, of_cluster=True),
    "slurm_longest_wait": Metric("SlurmLongestWait", SECONDS, of_cluster=True),
    "slurm_nodes_allocated": Metric("SlurmNodesAllocated", COUNT, of_cluster=True),
    "slurm_nodes_idle": Metric("SlurmNodesIdle", COUNT, of_cluster=True),
    "slurm_nodes_drained": Metric("SlurmNodesDrained", COUNT, of_cluster=True),
    "slurm_nodes_down": Metric("SlurmNodesDown", COUNT, of_cluster=True),
}
"""Metrics by the keys that sources use."""


def prometheus_name(key: str) -> str:
    """Return the Prometheus name of the value `key`."""
    return f"llm_fleet_{key}{_SUFFIXES.get(METRICS[key].unit, '')}"
