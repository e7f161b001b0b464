"""Each alarm changes to ALARM and to OK as documented, has a published metric, and describes what to do."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

import llm_fleet.functions
from llm_fleet.catalog.monitoring import account_metrics, alarm_thresholds, cluster_metrics, metrics_namespace
from llm_fleet.fleet_file.schema import descriptions
from llm_fleet.monitoring.alarm_plans import account_alarm_plans, node_alarm_plans
from llm_fleet.monitoring.cluster_observer import observer_plans
from llm_fleet.monitoring.monitored_cluster import MonitoredCluster
from llm_fleet.monitoring.storage_alarm_plans import database_plans, lustre_plan, open_zfs_plan
from llm_fleet.notifications.alarm_topic import AlarmTopic
from llm_fleet.notifications.metric_alarms import AlarmPlan, ServiceMetric
from llm_fleet.spec.monitoring import ClusterAlarmThresholds
from tests.monitoring.alarm_state import is_in_alarm
from tests.pains.reported import reported
from tools.synth_environment import ROOT

USUAL = ClusterAlarmThresholds()
HYPERPOD = MonitoredCluster.hyperpod("train", node_metrics=True)
PARALLEL = MonitoredCluster.parallelcluster("lab-0123abcd", node_metrics=True, published_as="lab")
GIB = 1024**3


def plans_of(cluster: MonitoredCluster, limits: ClusterAlarmThresholds = USUAL) -> dict[str, AlarmPlan]:
    return {plan.id: plan for plan in (*account_alarm_plans(cluster, limits), *node_alarm_plans(cluster, limits))}


def every() -> list[AlarmPlan]:
    storage = [
        lustre_plan("Lustre", "fs-1", 1200, USUAL),
        lustre_plan("Imported", "fs-2", None, USUAL),
        open_zfs_plan("OpenZfs", "fs-3", USUAL),
        *database_plans("Database", {"DBInstanceIdentifier": "slurm"}),
    ]
    return [*plans_of(HYPERPOD).values(), *plans_of(PARALLEL).values(), *storage, *observer_plans("observer")]


# By alarm: values that cause an ALARM and values that do not, one for each period of five minutes.
ACCOUNT: Sequence[tuple[MonitoredCluster, str, Any, Any]] = (
    (HYPERPOD, "NodeFailed", [1, 1], [0, 1]),
    (HYPERPOD, "StuckPending", {"pending": [0] * 6, "missing": [2] * 6}, {"pending": [2] * 5, "missing": [0] * 5}),
    (HYPERPOD, "StuckPending", {"pending": [1] * 6, "missing": [0] * 6}, {"pending": [0] * 6, "missing": [0] * 6}),
    (HYPERPOD, "LifecycleFailed", [1], [None]),
    (PARALLEL, "HeadNode", [1, 1], [1, 0]),
    # ParallelCluster retries after 10 minutes, without values in between.
    (PARALLEL, "NoCapacity", [3, None, None, 3, None, None], [9, None, None, None, None, None]),
    (PARALLEL, "LifecycleFailed", [3], [0]),
)
# A job has waited for four hours, and all nodes are allocated to others.
WAITING = {"wait": [14400, 14400], "idle": [0, 0], "down": [0, 0], "drained": [0, 0]}
NODES: Sequence[tuple[str, Any, Any]] = (
    # Sums over five minutes: use of two nodes in percent each minute, and two allocated nodes.
    ("IdleAllocated", {"used": [49] * 12, "allocated": [10] * 12}, {"used": [49] * 12, "allocated": [0] * 12}),
    ("IdleAllocated", {"used": [0] * 12, "allocated": [5] * 12}, {"used": [0] * 11 + [25], "allocated": [5] * 12}),
    # One node of many is busy, and the others are idle: a job that runs well in a large cluster.
    ("IdleAllocated", {"used": [20] * 12, "allocated": [5] * 12}, {"used": [450] * 12, "allocated": [5] * 12}),
    ("IdleUnused", {"used": [0] * 24, "allocated": [0] * 24}, {"used": [0] * 24, "allocated": [0] * 23 + [1]}),
    ("RootDisk", [85, 99], [99, 84.9]),
    ("LocalDisk", [85, 85], [84, 100]),
    ("QueueWait", WAITING | {"idle": [1, 1]}, WAITING | {"wait": [14399, 14399], "idle": [1, 1]}),
    ("QueueWait", WAITING | {"down": [1, 1]}, WAITING),
    ("QueueWait", WAITING | {"drained": [2, 2]}, WAITING | {"drained": [0, 2]}),
    ("NodesDown", [1, 1, 1], [1, 0, 1]),
    ("NodesSilent", {"running": [4] * 6, "reporting": [None] * 6}, {"running": [None] * 6, "reporting": [None] * 6}),
    ("NodesSilent", {"running": [4] * 6, "reporting": [0] * 6}, {"running": [4] * 6, "reporting": [None] * 5 + [1]}),
    ("SlurmSilent", {"reporting": [4] * 6, "slurm": [None] * 6}, {"reporting": [4] * 6, "slurm": [None] * 5 + [5]}),
    ("SlurmSilent", {"reporting": [1] * 6, "slurm": [0] * 6}, {"reporting": [None] * 6, "slurm": [None] * 6}),
)


@pytest.mark.parametrize(("cluster", "id", "loud", "quiet"), ACCOUNT)
def test_alarms_on_account_metrics_require_persistent_values(
    cluster: MonitoredCluster, id: str, loud: Any, quiet: Any
) -> None:
    plan = plans_of(cluster)[id]
    assert is_in_alarm(plan, loud)
    assert not is_in_alarm(plan, quiet)


@pytest.mark.parametrize(("id", "loud", "quiet"), NODES)
def test_alarms_on_node_metrics_require_persistent_values(id: str, loud: Any, quiet: Any) -> None:
    plan = plans_of(HYPERPOD)[id]
    assert is_in_alarm(plan, loud)
    assert not is_in_alarm(plan, quiet)


def test_a_short_absence_of_a_node_causes_no_alarm() -> None:
    """Nodes are idle for seconds between jobs, and ParallelCluster sets them down for ten minutes without capacity."""
    plans = plans_of(HYPERPOD)
    away = {
        (plan, metric.name): metric.statistic
        for plan in ("NodesDown", "QueueWait")
        for metric in _metrics([plans[plan]])
        if metric.name.startswith("SlurmNodes")
    }
    assert len(away) == 4
    assert set(away.values()) == {"Minimum"}


def test_one_full_ost_of_lustre_is_an_alarm() -> None:
    capacity, targets = 4800, 4
    plan = lustre_plan("Lustre", "fs-1", capacity, USUAL)
    one = capacity / targets * GIB
    assert is_in_alarm(plan, {"free": [0.1 * one] * 15, "targets": [targets] * 15})
    assert not is_in_alarm(plan, {"free": [0.11 * one] * 15, "targets": [targets] * 15})


def test_a_file_system_of_unknown_size_has_an_alarm_on_bytes() -> None:
    plan = lustre_plan("Lustre", "fs-1", None, USUAL)
    assert is_in_alarm(plan, [99 * GIB] * 3)
    assert not is_in_alarm(plan, [100 * GIB] * 3)


def test_alarms_on_home_directories_and_accounting_before_they_are_full() -> None:
    home = open_zfs_plan("OpenZfs", "fs-1", USUAL)
    assert is_in_alarm(home, {"used": [90] * 3, "capacity": [100] * 3})
    assert not is_in_alarm(home, {"used": [89] * 3, "capacity": [100] * 3})
    space, connections = database_plans("Database", {"DBInstanceIdentifier": "slurm"})
    assert is_in_alarm(space, [4 * GIB] * 3)
    assert not is_in_alarm(space, [5 * GIB] * 3)
    assert is_in_alarm(connections, [200] * 3)
    assert not is_in_alarm(connections, [199] * 3)


def test_aurora_has_no_alarm_on_storage() -> None:
    assert [plan.id for plan in database_plans("Database", {"DBClusterIdentifier": "slurm"})] == ["DatabaseConnections"]


def test_missing_data_is_an_alarm_only_for_the_function() -> None:
    def nothing(plan: AlarmPlan) -> Any:
        silence: list[float | None] = [None] * plan.periods
        return silence if isinstance(plan.measure, ServiceMetric) else dict.fromkeys(plan.measure.metrics, silence)

    assert [plan.id for plan in every() if is_in_alarm(plan, nothing(plan))] == ["ObserverAsleep"]


def test_a_new_function_causes_no_alarm() -> None:
    """A new alarm is in INSUFFICIENT_DATA, and the function has no data for half an hour.

    With `breaching`, it would change to ALARM at its own deployment; so it notifies only on a return to that state.
    """
    plan = next(plan for plan in observer_plans("observer") if plan.id == "ObserverAsleep")
    assert plan.missing == "missing"
    assert plan.reports_silence


@pytest.mark.parametrize("plan", every(), ids=lambda plan: plan.id)
def test_an_alarm_is_valid_and_describes_what_to_do(plan: AlarmPlan) -> None:
    assert 80 < len(plan.meaning) <= 1024
    assert "\n" not in plan.meaning
    assert plan.meaning.endswith(".")
    assert plan.periods * plan.measure.period_seconds <= 86_400
    assert 1 <= (plan.ringing or plan.periods) <= plan.periods


def _metrics(plans: Sequence[AlarmPlan]) -> list[ServiceMetric]:
    measures = [plan.measure for plan in plans]
    return [
        one
        for measure in measures
        for one in ([measure] if isinstance(measure, ServiceMetric) else measure.metrics.values())
    ]


def test_every_metric_is_published() -> None:
    own = {metric.name for metric in cluster_metrics().values()}
    notify = Path(ROOT, "lifecycle_scripts/llm_fleet_node/notify.py").read_text(encoding="utf-8")
    own |= set(re.findall(r'^_(?:DEGRADED_)?METRIC = "(\w+)"', notify, flags=re.M))
    # Metrics of the cluster observer, by the keys in its code.
    code = Path(next(iter(llm_fleet.functions.__path__)), "cluster_observer", "handler.py").read_text(encoding="utf-8")
    counted = {name for key, name in account_metrics().metrics.items() if f'"{key}"' in code}
    published = {
        metrics_namespace(): own,
        account_metrics().namespace: counted,
        "ParallelCluster": {"InsufficientCapacityErrors"},
        "AWS/FSx": {"FreeDataStorageCapacity", "UsedStorageCapacity", "StorageCapacity"},
        "AWS/RDS": {"FreeStorageSpace", "DatabaseConnections"},
        "AWS/Lambda": {"Errors", "Invocations"},
    }
    used = {(metric.namespace, metric.name) for metric in _metrics(every())}
    assert {(space, name) for space, name in used if name not in published[space]} == set()
    assert counted == set(account_metrics().metrics.values())


def test_node_metrics_use_the_name_that_nodes_publish() -> None:
    by_nodes = [
        metric for metric in _metrics(list(plans_of(PARALLEL).values())) if metric.namespace == "LlmFleet/Nodes"
    ]
    assert {metric.dimensions["Cluster"] for metric in by_nodes} == {"lab"}
    others = [metric for metric in _metrics(list(plans_of(PARALLEL).values())) if metric.namespace != "LlmFleet/Nodes"]
    assert {value for metric in others for value in metric.dimensions.values()} == {"lab-0123abcd"}


def test_a_cluster_without_metrics_or_accelerators_has_no_alarm_on_them() -> None:
    assert not node_alarm_plans(MonitoredCluster.hyperpod("train"), USUAL)
    plain = plans_of(MonitoredCluster.hyperpod("train", node_metrics=True, accelerators=False))
    assert not {id for id in plain if id.startswith("Idle")}
    assert "RootDisk" in plain
    assert "NodeFailed" not in plans_of(PARALLEL)
    assert "HeadNode" not in plans_of(HYPERPOD)


@pytest.mark.parametrize("name", [name for name in alarm_thresholds() if name != "database_connections"])
def test_each_threshold_changes_an_alarm_and_has_its_documented_default(name: str) -> None:
    other = ClusterAlarmThresholds(**{name: 40 if name.endswith("_percent") else 55})
    limits = [other, USUAL]
    moved, usual = (
        {
            (plan.id, plan.threshold, plan.periods)
            for plan in (*plans_of(HYPERPOD, each).values(), lustre_plan("Lustre", "fs-1", 1200, each))
        }
        for each in limits
    )
    assert moved != usual
    default = re.search(r"Default: `?(\d+)( min| h)?`?\.", descriptions(ClusterAlarmThresholds)[name])
    assert default is not None
    assert int(default[1]) * (60 if default[2] == " h" else 1) == alarm_thresholds()[name]


def test_pains_reported_by_an_alarm() -> None:
    plans = plans_of(HYPERPOD)
    reported(5, plans["RootDisk"].meaning, "The root disk of a node of train is 85 % full")
    reported(13, plans["StuckPending"].meaning, "no capacity in the AZ")
    reported(23, plans["NodesSilent"].meaning, "none has published a metric for 30 minutes")


def test_alarms_pass_whether_or_not_the_key_is_requested_with_the_account(stack: cdk.Stack) -> None:
    AlarmTopic(stack, "Alarms")
    template = Template.from_stack(stack)
    (key,) = template.find_resources("AWS::KMS::Key").values()
    (of_alarms,) = [
        one for one in key["Properties"]["KeyPolicy"]["Statement"] if one.get("Sid") == "AlarmsOfThisAccount"
    ]
    assert "Condition" not in of_alarms
    (policy,) = template.find_resources("AWS::SNS::TopicPolicy").values()
    (publish,) = [
        one for one in policy["Properties"]["PolicyDocument"]["Statement"] if one.get("Sid") == "AlarmsOfThisAccount"
    ]
    assert list(publish["Condition"]) == ["StringEquals"]
