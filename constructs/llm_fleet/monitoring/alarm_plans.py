"""The alarms of clusters: of their nodes, and of what the account says of them."""

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
"""No value is no trouble: a cluster that is not there has none, and must call nobody."""


def account_alarm_plans(cluster: MonitoredCluster, thresholds: ClusterAlarmThresholds) -> tuple[AlarmPlan, ...]:
    """Return the alarms that every cluster of its kind has."""
    own = _hyperpod if cluster.kind == ClusterKind.HYPERPOD else _parallelcluster
    return (*own(cluster.name, thresholds), _lifecycle(cluster.nodes_name), _degraded(cluster.nodes_name))


def lasting(minutes: float) -> int:
    """Return how many periods `minutes` are, rounded up."""
    return max(1, -(-int(minutes) * 60 // PERIOD))


def steady(
    id: str, measure: Measure, *, threshold: float, minutes: float, meaning: str, below: bool = False
) -> AlarmPlan:
    """Return an alarm that rings when each period of the last `minutes` is beyond `threshold`."""
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
        label="nodes wanted and not there",
    )
    return (
        steady(
            "NodeFailed",
            account_metric("nodes_failed", name),
            threshold=1,
            minutes=failed,
            meaning=f"A node of {name} has been in Failure for {failed:g} minutes, and HyperPod has not replaced it: "
            f"jobs on it stand. `llm-fleet nodes {name}` names it, `llm-fleet events {name}` says why; replace it with "
            "`aws sagemaker batch-replace-cluster-nodes`.",
        ),
        steady(
            "StuckPending",
            wanted,
            threshold=1,
            minutes=stuck,
            meaning=f"Nodes that {name} wants have been pending or missing for {stuck:g} minutes: no capacity in the "
            f"AZ, a training plan that has ended, or starts that fail. `llm-fleet events {name}` says which; without "
            "capacity, ask for fewer nodes or another type.",
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
            meaning=f"The head node of {name} is stopped or fails EC2's status checks: nobody can submit a job. EC2 "
            "recovers a failed host by itself within minutes; if it rings on, stop and start the instance, whose "
            "volumes stay.",
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
        # A compute resource that was refused is left alone for 10 minutes (insufficient_capacity_timeout) and a little
        # more, and in between nothing is told: not every period has a value, but every third.
        ringing=max(1, periods // 3),
        missing=QUIET,
        meaning=f"EC2 has refused instances to {name} for want of capacity again and again within {minutes:g} minutes: "
        "jobs wait. Add instance types or an AZ to the queue, or a capacity reservation.",
    )


def _lifecycle(name: str) -> AlarmPlan:
    return AlarmPlan(
        id="LifecycleFailed",
        measure=failed_starts(name),
        threshold=1,
        missing=QUIET,
        meaning=f"A node of {name} has failed in a step of its configuration, and was not let in half configured. "
        f"`llm-fleet logs {name}` names the step, its code and the remedy.",
    )


def _degraded(name: str) -> AlarmPlan:
    return AlarmPlan(
        id="NodesDegraded",
        measure=degraded_starts(name),
        threshold=1,
        missing=QUIET,
        meaning=f"A node of {name} takes jobs, but without something that makes them faster or seen, e.g. Lustre over "
        f"EFA or its metrics. `llm-fleet logs {name}` names the step, its code and the remedy.",
    )


_DISK_MINUTES = 10
_ALL_THE_TIME = "Minimum"
"""Of a period's five values: a node that is idle for a moment between two jobs does not count."""
_BUSY = 100
"""What an expression gives while the question does not arise: above every threshold of idleness."""


def node_alarm_plans(cluster: MonitoredCluster, thresholds: ClusterAlarmThresholds) -> tuple[AlarmPlan, ...]:
    """Return the alarms on nodes' own figures; none for a cluster whose nodes publish nothing to CloudWatch."""
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
            meaning=f"Jobs hold nodes of {name} that have done next to nothing on their accelerators (below "
            f"{percent:g} % for each) for {idle:g} minutes: a run hangs, waits for data, or was forgotten. `squeue` "
            "names it; look at its log, and cancel it with `scancel`.",
        ),
        steady(
            "IdleUnused",
            _used_by_no_one(name),
            threshold=percent,
            below=True,
            minutes=unused,
            meaning=f"No job has held a node of {name} for {unused:g} minutes, and it costs on. Lower `count` of its "
            "groups, or destroy its stack: network, storage and accounting stay.",
        ),
    )


def _used_by_allocated(name: str) -> MetricMath:
    """Return the use of accelerators for each node that jobs hold; a mean of all nodes would call a small job idle.

    Both tell a value a minute, so the quotient of their sums is per node. Without a value of either there is none here.
    """
    return MetricMath(
        # The inner IF keeps it from dividing by nothing, of which CloudWatch makes no value.
        expression=f"IF(allocated > 0, used / IF(allocated > 0, allocated, 1), {_BUSY})",
        metrics={
            "used": node_metric("accelerator_utilization", name, statistic="Sum"),
            "allocated": node_metric("slurm_nodes_allocated", name, statistic="Sum"),
        },
        period_seconds=PERIOD,
        label="used by each node that jobs hold (%)",
    )


def _used_by_no_one(name: str) -> MetricMath:
    return MetricMath(
        expression=f"IF(allocated < 1, used, {_BUSY})",
        metrics={
            "used": node_metric("accelerator_utilization", name, statistic="Average"),
            "allocated": node_metric("slurm_nodes_allocated", name),
        },
        period_seconds=PERIOD,
        label="used while no job holds a node (%)",
    )


def _disks(name: str, thresholds: ClusterAlarmThresholds) -> tuple[AlarmPlan, ...]:
    percent = thresholds.figure("disk_percent")
    where = f"Logs Insights on the nodes' metrics of {name} names the node"
    return (
        steady(
            "RootDisk",
            node_metric("root_disk_used", name),
            threshold=percent,
            minutes=_DISK_MINUTES,
            meaning=f"The root disk of a node of {name} is {percent:g} % full: at 100 % its Slurm daemon and its "
            f"agents stop. {where}; look for images and logs with `du -xh / | sort -h`, and move them to the local "
            "disk or to /fsx.",
        ),
        steady(
            "LocalDisk",
            node_metric("local_disk_used", name),
            threshold=percent,
            minutes=_DISK_MINUTES,
            meaning=f"The local data disk of a node of {name} is {percent:g} % full: containers and caches stop being "
            f"written. {where}; `llm-fleet connect` leads there, and old images and caches can go.",
        ),
    )


def _slurm(name: str, thresholds: ClusterAlarmThresholds) -> tuple[AlarmPlan, ...]:
    wait, down = thresholds.figure("queue_wait_minutes"), thresholds.figure("nodes_down_minutes")
    return (
        steady(
            "QueueWait",
            _wait_in_vain(name),
            threshold=wait * 60,
            minutes=_DISK_MINUTES,
            meaning=f"A job of {name} that could run has waited for {wait:g} minutes, while nodes are idle, down or "
            "drained. `squeue --start` says what it waits for, and `sinfo -R` why nodes are away: perhaps the job asks "
            "for more than there is.",
        ),
        steady(
            "NodesDown",
            node_metric("slurm_nodes_down", name, statistic=_ALL_THE_TIME),
            threshold=1,
            minutes=down,
            meaning=f"Slurm has taken a node of {name} for down for {down:g} minutes. `sinfo -R` says why; when the "
            "cause is gone, `scontrol update nodename=… state=resume`.",
        ),
    )


def _wait_in_vain(name: str) -> MetricMath:
    """Return how long a job waits while a node does not work; where all do, a queue is what a cluster is for."""
    away = ("idle", "down", "drained")
    return MetricMath(
        expression=f"IF(({' + '.join(away)}) > 0, wait, 0)",
        metrics={
            "wait": node_metric("slurm_longest_wait", name),
            **{kind: node_metric(f"slurm_nodes_{kind}", name, statistic=_ALL_THE_TIME) for kind in away},
        },
        period_seconds=PERIOD,
        label="longest wait while nodes do not work (s)",
    )


def _silent(name: str, thresholds: ClusterAlarmThresholds) -> AlarmPlan:
    minutes = thresholds.figure("silent_minutes")
    # Nodes that nobody counts ring nothing: a cluster that is gone, or scaled to nothing, is silent by right.
    # A metric that was never published: assumption: cloudwatch-fill-without-values
    reporting = MetricMath(
        expression=f"IF(running > 0, FILL(reporting, 0), {_BUSY})",
        metrics={
            "running": account_metric("nodes_running", name),
            "reporting": node_metric("nodes_reporting", name, statistic="Sum"),
        },
        period_seconds=PERIOD,
        label="nodes that report, while some run",
    )
    return steady(
        "NodesSilent",
        reporting,
        threshold=1,
        below=True,
        minutes=minutes,
        meaning=f"Nodes of {name} run, and none has published a metric for {minutes:g} minutes: the alarms on disks, "
        "accelerators and queue are blind. On the controller, `systemctl status 'llm-fleet-*'` says why; often the "
        "role lacks a right, or an endpoint is missing in a closed network.",
    )


def _slurm_silent(name: str, thresholds: ClusterAlarmThresholds) -> AlarmPlan:
    minutes = thresholds.figure("silent_minutes")
    reported = MetricMath(
        expression=f"IF(reporting > 0, FILL(slurm, 0), {_BUSY})",
        metrics={
            "reporting": node_metric("nodes_reporting", name, statistic="Sum"),
            "slurm": node_metric("slurm_jobs_running", name, statistic="SampleCount"),
        },
        period_seconds=PERIOD,
        label="times that the controller told of the queue, while nodes report",
    )
    return steady(
        "SlurmSilent",
        reported,
        threshold=1,
        below=True,
        minutes=minutes,
        meaning=f"Nodes of {name} report, and its controller has told nothing of the queue for {minutes:g} minutes: "
        "slurmctld is down, or the controller is gone. No job starts. On the controller, `scontrol ping` and "
        "`journalctl -u slurmctld` say why; `systemctl restart slurmctld` keeps running jobs.",
    )
