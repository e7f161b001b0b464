"""Which alarms a cluster has on what its nodes publish: what each looks at, when it rings, and what to do then."""

from llm_fleet.monitoring.account_alarm_plans import steady
from llm_fleet.monitoring.cluster_alarm_thresholds import ClusterAlarmThresholds
from llm_fleet.monitoring.cluster_measures import PERIOD, account_metric, node_metric
from llm_fleet.monitoring.monitored_cluster import ClusterKind, MonitoredCluster
from llm_fleet.notifications.alarm_plan import AlarmPlan
from llm_fleet.notifications.metric import MetricMath

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
            _used_by_nobody(name),
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


def _used_by_nobody(name: str) -> MetricMath:
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
    told = MetricMath(
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
        told,
        threshold=1,
        below=True,
        minutes=minutes,
        meaning=f"Nodes of {name} report, and its controller has told nothing of the queue for {minutes:g} minutes: "
        "slurmctld is down, or the controller is gone. No job starts. On the controller, `scontrol ping` and "
        "`journalctl -u slurmctld` say why; `systemctl restart slurmctld` keeps running jobs.",
    )
