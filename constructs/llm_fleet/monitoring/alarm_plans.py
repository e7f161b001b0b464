"""The alarms of clusters: on metrics of their nodes, and on metrics of the account."""

from llm_fleet.catalog.monitoring import parallelcluster_metrics
from llm_fleet.monitoring.monitored_cluster import (
    PERIOD,
    ClusterKind,
    MonitoredCluster,
    account_metric,
    degraded_starts,
    failed_starts,
    node_metric,
    parallelcluster_metric,
)
from llm_fleet.notifications.metric_alarms import AlarmPlan, Measure, MetricMath
from llm_fleet.spec.monitoring import ClusterAlarmThresholds

QUIET = "notBreaching"
"""Missing data is not a problem: a cluster that does not exist has none, and must not cause an alarm."""


def account_alarm_plans(cluster: MonitoredCluster, thresholds: ClusterAlarmThresholds) -> tuple[AlarmPlan, ...]:
    """Return the alarms of all clusters of this kind."""
    own = _hyperpod if cluster.kind == ClusterKind.HYPERPOD else _parallelcluster
    return (*own(cluster.name, thresholds), _lifecycle(cluster.nodes_name), _degraded(cluster.nodes_name))


def lasting(minutes: float) -> int:
    """Return the number of periods in `minutes`, rounded up."""
    return max(1, -(-int(minutes) * 60 // PERIOD))


def steady(
    id: str, measure: Measure, *, threshold: float, minutes: float, meaning: str, below: bool = False
) -> AlarmPlan:
    """Return an alarm that changes to ALARM when all periods of the last `minutes` are beyond `threshold`."""
    periods = lasting(minutes)
    return AlarmPlan(
        id=id,
        measure=measure,
        threshold=threshold,
        below=below,
        periods=periods,
        missing=QUIET,
        meaning=meaning,
    )


def _hyperpod(name: str, thresholds: ClusterAlarmThresholds) -> tuple[AlarmPlan, ...]:
    failed, stuck = thresholds.figure("node_failed_minutes"), thresholds.figure("stuck_pending_minutes")
    wanted = MetricMath(
        expression="pending + missing",
        metrics={"pending": account_metric("nodes_pending", name), "missing": account_metric("nodes_missing", name)},
        period_seconds=PERIOD,
        label="missing nodes",
    )
    return (
        steady(
            "NodeFailed",
            account_metric("nodes_failed", name),
            threshold=1,
            minutes=failed,
            meaning=f"A node of {name} has been in Failure for {failed:g} minutes, and HyperPod has not replaced it: "
            f"its jobs do not run. `llm-fleet nodes {name}` lists it, `llm-fleet events {name}` shows the reason; "
            "replace it with `aws sagemaker batch-replace-cluster-nodes`.",
        ),
        steady(
            "StuckPending",
            wanted,
            threshold=1,
            minutes=stuck,
            meaning=f"Nodes of {name} have been pending or missing for {stuck:g} minutes: no capacity in the AZ, a "
            f"training plan that has ended, or failing node starts. `llm-fleet events {name}` shows which; without "
            "capacity, request fewer nodes or another instance type.",
        ),
    )


def _parallelcluster(name: str, thresholds: ClusterAlarmThresholds) -> tuple[AlarmPlan, ...]:
    stuck = thresholds.figure("stuck_pending_minutes")
    return (
        steady(
            "HeadNode",
            account_metric("head_node_impaired", name),
            threshold=1,
            minutes=10,
            meaning=f"The head node of {name} is stopped or fails EC2's status checks: users cannot submit jobs. EC2 "
            "recovers a failed host automatically within minutes; if the alarm remains, stop and start the instance, "
            "whose volumes are retained.",
        ),
        _no_capacity(name, stuck),
    )


def _no_capacity(name: str, minutes: float) -> AlarmPlan:
    periods = lasting(minutes)
    return AlarmPlan(
        id="NoCapacity",
        measure=parallelcluster_metric(parallelcluster_metrics().no_capacity, name),
        threshold=1,
        periods=periods,
        # Slurm disables a compute resource for 10 minutes after an insufficient capacity error
        # (insufficient_capacity_timeout), so only about every third period has a value.
        ringing=max(1, periods // 3),
        missing=QUIET,
        meaning=f"EC2 repeatedly had insufficient capacity for instances of {name} within {minutes:g} minutes: "
        "jobs wait. Add instance types, an AZ or a capacity reservation to the queue.",
    )


def _lifecycle(name: str) -> AlarmPlan:
    return AlarmPlan(
        id="LifecycleFailed",
        measure=failed_starts(name),
        threshold=1,
        missing=QUIET,
        meaning=f"A node of {name} failed in a step of its configuration, and was not added to the cluster. "
        f"`llm-fleet logs {name}` shows the step, its error code and the remedy.",
    )


def _degraded(name: str) -> AlarmPlan:
    return AlarmPlan(
        id="NodesDegraded",
        measure=degraded_starts(name),
        threshold=1,
        missing=QUIET,
        meaning=f"A node of {name} accepts jobs, but without an optional part, e.g. Lustre over EFA or metrics. "
        f"`llm-fleet logs {name}` shows the step, its error code and the remedy.",
    )


_DISK_MINUTES = 10
_ALL_THE_TIME = "Minimum"
"""Statistic over a period's five values, so that a node that is briefly idle between two jobs does not count."""
_BUSY = 100
"""Value of an expression while its condition does not apply: above every idle threshold."""


def node_alarm_plans(cluster: MonitoredCluster, thresholds: ClusterAlarmThresholds) -> tuple[AlarmPlan, ...]:
    """Return the alarms on node metrics; empty for a cluster whose nodes do not publish to CloudWatch."""
    if not cluster.node_metrics:
        return ()
    name = cluster.nodes_name
    idle = _idle(name, thresholds) if cluster.accelerators else ()
    silent = (_silent(name, thresholds),) if cluster.kind == ClusterKind.HYPERPOD else ()
    return (*idle, *_disks(name, thresholds), *_slurm(name, thresholds), *silent, _slurm_silent(name, thresholds))


def _idle(name: str, thresholds: ClusterAlarmThresholds) -> tuple[AlarmPlan, ...]:
    percent = thresholds.figure("idle_percent")
    idle, unused = thresholds.figure("idle_minutes"), thresholds.figure("unused_minutes")
    return (
        steady(
            "IdleAllocated",
            _used_by_allocated(name),
            threshold=percent,
            below=True,
            minutes=idle,
            meaning=f"Jobs have allocated nodes of {name} whose accelerators were nearly idle (below {percent:g} % for "
            f"each) for {idle:g} minutes: a run hangs, waits for data, or was forgotten. Find the job with `squeue`, "
            "check its log, and cancel it with `scancel`.",
        ),
        steady(
            "IdleUnused",
            _unused_nodes(name),
            threshold=percent,
            below=True,
            minutes=unused,
            meaning=f"No job has used a node of {name} for {unused:g} minutes, but it is billed. Lower `count` "
            "of its groups, or destroy its stack: network, storage and accounting are retained.",
        ),
    )


def _used_by_allocated(name: str) -> MetricMath:
    """Return the accelerator use per allocated node; an average over all nodes would be low for a small job.

    Both have one value per minute, so the quotient of their sums is per node. It has no value if one is missing.
    """
    return MetricMath(
        # The inner IF prevents a division by 0, for which CloudWatch has no value.
        expression=f"IF(allocated > 0, used / IF(allocated > 0, allocated, 1), {_BUSY})",
        metrics={
            "used": node_metric("accelerator_utilization", name, statistic="Sum"),
            "allocated": node_metric("slurm_nodes_allocated", name, statistic="Sum"),
        },
        period_seconds=PERIOD,
        label="used per allocated node (%)",
    )


def _unused_nodes(name: str) -> MetricMath:
    return MetricMath(
        expression=f"IF(allocated < 1, used, {_BUSY})",
        metrics={
            "used": node_metric("accelerator_utilization", name, statistic="Average"),
            "allocated": node_metric("slurm_nodes_allocated", name),
        },
        period_seconds=PERIOD,
        label="used while no node is allocated (%)",
    )


def _disks(name: str, thresholds: ClusterAlarmThresholds) -> tuple[AlarmPlan, ...]:
    percent = thresholds.figure("disk_percent")
    where = f"To find the node, query the metrics log group of {name} with Logs Insights"
    return (
        steady(
            "RootDisk",
            node_metric("root_disk_used", name),
            threshold=percent,
            minutes=_DISK_MINUTES,
            meaning=f"The root disk of a node of {name} is {percent:g} % full: at 100 % its Slurm daemon and agents "
            f"stop. {where}; look for images and logs with `du -xh / | sort -h`, and move them to the local disk or "
            "to /fsx.",
        ),
        steady(
            "LocalDisk",
            node_metric("local_disk_used", name),
            threshold=percent,
            minutes=_DISK_MINUTES,
            meaning=f"The local data disk of a node of {name} is {percent:g} % full: at 100 %, containers and caches "
            f"cannot be written. {where}; log in with `llm-fleet connect`, and delete old images and caches.",
        ),
    )


def _slurm(name: str, thresholds: ClusterAlarmThresholds) -> tuple[AlarmPlan, ...]:
    wait, down = thresholds.figure("queue_wait_minutes"), thresholds.figure("nodes_down_minutes")
    return (
        steady(
            "QueueWait",
            _wait_with_unused_nodes(name),
            threshold=wait * 60,
            minutes=_DISK_MINUTES,
            meaning=f"A job of {name} that could run has waited for {wait:g} minutes, while nodes are idle, down or "
            "drained. `squeue --start` shows the reason of the job, and `sinfo -R` the reasons of the nodes: the job "
            "may request more than the cluster has.",
        ),
        steady(
            "NodesDown",
            node_metric("slurm_nodes_down", name, statistic=_ALL_THE_TIME),
            threshold=1,
            minutes=down,
            meaning=f"Slurm has had a node of {name} in the state down for {down:g} minutes. `sinfo -R` shows the "
            "reason; after a fix, run `scontrol update nodename=… state=resume`.",
        ),
    )


def _wait_with_unused_nodes(name: str) -> MetricMath:
    """Return the longest wait of a job while nodes are not in use; with all nodes in use, waiting is normal."""
    away = ("idle", "down", "drained")
    return MetricMath(
        expression=f"IF(({' + '.join(away)}) > 0, wait, 0)",
        metrics={
            "wait": node_metric("slurm_longest_wait", name),
            **{kind: node_metric(f"slurm_nodes_{kind}", name, statistic=_ALL_THE_TIME) for kind in away},
        },
        period_seconds=PERIOD,
        label="longest wait while nodes are not in use (s)",
    )


def _silent(name: str, thresholds: ClusterAlarmThresholds) -> AlarmPlan:
    minutes = thresholds.figure("silent_minutes")
    # Without running nodes there is no alarm: a cluster that is deleted or scaled to 0 publishes nothing.
    # For a metric that was never published, assumption: cloudwatch-fill-without-values
    reporting = MetricMath(
        expression=f"IF(running > 0, FILL(reporting, 0), {_BUSY})",
        metrics={
            "running": account_metric("nodes_running", name),
            "reporting": node_metric("nodes_reporting", name, statistic="Sum"),
        },
        period_seconds=PERIOD,
        label="reporting nodes while nodes run",
    )
    return steady(
        "NodesSilent",
        reporting,
        threshold=1,
        below=True,
        minutes=minutes,
        meaning=f"Nodes of {name} run, but none has published a metric for {minutes:g} minutes: the alarms on disks, "
        "accelerators and queue have no data. On the controller, run `systemctl status 'llm-fleet-*'`; often the role "
        "has no permission, or a network without internet access has no VPC endpoint for it.",
    )


def _slurm_silent(name: str, thresholds: ClusterAlarmThresholds) -> AlarmPlan:
    minutes = thresholds.figure("silent_minutes")
    queue = MetricMath(
        expression=f"IF(reporting > 0, FILL(slurm, 0), {_BUSY})",
        metrics={
            "reporting": node_metric("nodes_reporting", name, statistic="Sum"),
            "slurm": node_metric("slurm_jobs_running", name, statistic="SampleCount"),
        },
        period_seconds=PERIOD,
        label="queue reports of the controller while nodes report",
    )
    return steady(
        "SlurmSilent",
        queue,
        threshold=1,
        below=True,
        minutes=minutes,
        meaning=f"Nodes of {name} report, but its controller has not reported the queue for {minutes:g} minutes: "
        "slurmctld or the controller is down, and no job starts. On the controller, run `scontrol ping` and "
        "`journalctl -u slurmctld`; `systemctl restart slurmctld` keeps running jobs.",
    )
