from typing import Any

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_cluster
from llm_fleet.rules.terms import OnDrainTimeout, PatchingStrategy
from llm_fleet.spec.instance_group import AutoPatch, BatchSize, RollingUpdate, ScheduledUpdate
from tests.rules.hyperpod.findings import only
from tests.rules.hyperpod.shapes import cluster_with

GROUP = ("groups", "worker-group")


@pytest.mark.parametrize("expression", ["rate(1 day)", "0 3 * * 0", "cron(0 3 * * 0)", "cron(0 3 * * * *)"])
def test_schedules(expression: str):
    found = check_cluster(cluster_with(scheduled_update=ScheduledUpdate(schedule_expression=expression)))
    problem = only(found, Code.SCHEDULE, *GROUP, "scheduled_update", "schedule_expression")
    assert "cron(0 3 ? * SUN *)" in problem.remedy


@pytest.mark.parametrize(
    ("deployment", "code", "path", "in_message"),
    [
        ({"maximum_batch_size": BatchSize.nodes(0)}, Code.BATCH_SIZE, ("maximum_batch_size", "value"), "below 1"),
        (
            {"maximum_batch_size": BatchSize.percent(101)},
            Code.BATCH_SIZE,
            ("maximum_batch_size", "value"),
            "101 per cent",
        ),
        (
            {"rollback_maximum_batch_size": BatchSize.nodes(-1)},
            Code.BATCH_SIZE,
            ("rollback_maximum_batch_size", "value"),
            "is negative",
        ),
        (
            {"maximum_batch_size": None, "rollback_maximum_batch_size": BatchSize.nodes(1)},
            Code.BATCH_SIZE,
            ("maximum_batch_size",),
            "needs one for going forward",
        ),
        ({"wait_interval_seconds": 3601}, Code.WAIT_INTERVAL, ("wait_interval_seconds",), "is above 3600"),
        ({"wait_interval_seconds": -1}, Code.WAIT_INTERVAL, ("wait_interval_seconds",), "is negative"),
        ({"alarm_names": ("a",) * 11}, Code.ALARMS, ("alarm_names",), "is above 10"),
        ({"alarm_names": ("a", " ")}, Code.ALARMS, ("alarm_names", 1), "is empty"),
        ({"alarm_names": ("a" * 256,)}, Code.ALARMS, ("alarm_names", 0), "is 256 characters long"),
    ],
)
def test_deployments(deployment: dict[str, Any], code: Code, path: tuple[str | int, ...], in_message: str):
    given: dict[str, Any] = {"maximum_batch_size": BatchSize.nodes(1), **deployment}
    rolling = RollingUpdate(**given)
    schedule = ScheduledUpdate(schedule_expression="cron(0 3 ? * SUN *)", deployment=rolling)
    scheduled = cluster_with(scheduled_update=schedule)
    problem = only(check_cluster(scheduled), code, *GROUP, "scheduled_update", "deployment", *path)
    assert in_message in problem.message
    patched = cluster_with(auto_patch=AutoPatch(strategy=PatchingStrategy.WHEN_IDLE, deployment=rolling))
    only(check_cluster(patched), code, *GROUP, "auto_patch", "deployment", *path)


def test_full_per_cent_are_fine():
    rolling = RollingUpdate(maximum_batch_size=BatchSize.percent(100))
    patch = AutoPatch(strategy=PatchingStrategy.WHEN_IDLE, deployment=rolling)
    assert check_cluster(cluster_with(auto_patch=patch)) == []


@pytest.mark.parametrize(
    ("patch", "code", "attribute", "in_message"),
    [
        ({"idle_wait_window_seconds": 3599}, Code.PATCH_IDLE_WINDOW, "idle_wait_window_seconds", "is below 3600"),
        (
            {"idle_wait_window_seconds": 2_160_001},
            Code.PATCH_IDLE_WINDOW,
            "idle_wait_window_seconds",
            "is above 2160000",
        ),
        (
            {"strategy": PatchingStrategy.DRAIN_FIRST, "idle_wait_window_seconds": 3600},
            Code.PATCH_IDLE_WINDOW,
            "idle_wait_window_seconds",
            "means nothing to the strategy DrainFirst",
        ),
        (
            {"strategy": PatchingStrategy.DRAIN_FIRST, "drain_timeout_seconds": 5401},
            Code.PATCH_DRAIN,
            "drain_timeout_seconds",
            "is above 5400",
        ),
        ({"drain_timeout_seconds": 60}, Code.PATCH_DRAIN, "drain_timeout_seconds", "the strategy WhenIdle"),
        (
            {"strategy": PatchingStrategy.WHEN_ALL_IDLE, "on_drain_timeout": OnDrainTimeout.FORCE},
            Code.PATCH_DRAIN,
            "on_drain_timeout",
            "the strategy WhenAllIdle",
        ),
    ],
)
def test_auto_patch(patch: dict[str, Any], code: Code, attribute: str, in_message: str):
    given: dict[str, Any] = {"strategy": PatchingStrategy.WHEN_IDLE, **patch}
    found = check_cluster(cluster_with(auto_patch=AutoPatch(**given)))
    problem = only(found, code, *GROUP, "auto_patch", attribute)
    assert in_message in problem.message
