"""Which alarms a cluster has that need nothing of its nodes: what each looks at, when it rings, and what to do then."""

from llm_fleet.catalog.monitoring import parallelcluster_metrics
from llm_fleet.monitoring.cluster_alarm_thresholds import ClusterAlarmThresholds
from llm_fleet.monitoring.cluster_measures import (
    PERIOD,
    account_metric,
    degraded_starts,
    failed_starts,
    parallelcluster_metric,
)
from llm_fleet.monitoring.monitored_cluster import ClusterKind, MonitoredCluster
from llm_fleet.notifications.alarm_plan import AlarmPlan
from llm_fleet.notifications.metric import Measure, MetricMath

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
        ringing=periods,
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
        periods=1,
        ringing=1,
        missing=QUIET,
        meaning=f"A node of {name} has failed in a step of its configuration, and was not let in half configured. "
        f"`llm-fleet logs {name}` names the step, its code and the remedy.",
    )


def _degraded(name: str) -> AlarmPlan:
    return AlarmPlan(
        id="NodesDegraded",
        measure=degraded_starts(name),
        threshold=1,
        periods=1,
        ringing=1,
        missing=QUIET,
        meaning=f"A node of {name} takes jobs, but without something that makes them faster or seen, e.g. Lustre over "
        f"EFA or its metrics. `llm-fleet logs {name}` names the step, its code and the remedy.",
    )
