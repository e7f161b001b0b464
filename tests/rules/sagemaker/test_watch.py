"""What a watch is refused for, rule by rule, through the values that carry them."""

from collections.abc import Callable
from typing import Any

import pytest

from llm_fleet.catalog.training_watch import training_watch_facts
from llm_fleet.functions.training_watch.successor_name import successor_name
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.watch_conditions import check_grace
from llm_fleet.rules.sagemaker.watch_followed import (
    FollowedJob,
    check_followed,
    check_followed_something,
    check_pattern_size,
    check_room,
    check_settings_size,
)
from llm_fleet.rules.sagemaker.watch_prefixes import (
    check_cluster_arn,
    check_others_restart,
    check_prefix,
    check_prefixes,
    check_watch_name,
    check_watched_clusters,
)
from llm_fleet.sagemaker.watch.checkpoint_layout import CheckpointLayout
from llm_fleet.sagemaker.watch.job_watch import JobWatch
from llm_fleet.sagemaker.watch.loss_spike import LossSpike
from llm_fleet.sagemaker.watch.not_a_number import NotANumber
from llm_fleet.sagemaker.watch.restart_policy import RestartPolicy
from llm_fleet.sagemaker.watch.stall import Stall
from llm_fleet.sagemaker.watch.throughput_drop import ThroughputDrop
from llm_fleet.sagemaker.watch.watched_jobs import WatchedJobs

TOKEN = "${Token[Somewhere.12]}"
JOB = FollowedJob(
    name="llama", has_checkpoints=True, metrics=["loss"], restarts=3, conditions={"loss_spike": "loss", "stall": "loss"}
)


@pytest.mark.parametrize(
    ("make", "code", "path"),
    [
        (lambda: RestartPolicy(maximum=-1), "LF985", ("maximum",)),
        (lambda: RestartPolicy(maximum=101), "LF985", ("maximum",)),
        (lambda: RestartPolicy(maximum="3"), "LF985", ("maximum",)),  # pyright: ignore[reportArgumentType]
        (lambda: RestartPolicy(back_off_seconds=0), "LF985", ("back_off_seconds",)),
        (lambda: RestartPolicy(longest_back_off_seconds=59), "LF985", ("longest_back_off_seconds",)),
        (lambda: LossSpike(metric="loss", factor=1), "LF986", ("factor",)),
        (lambda: LossSpike(metric="loss", factor=0), "LF986", ("factor",)),
        (lambda: LossSpike(metric="loss", factor=float("nan")), "LF986", ("factor",)),
        (lambda: LossSpike(metric="loss", minutes=30), "LF986", ("minutes",)),
        (lambda: LossSpike(metric="loss", window_minutes=3), "LF986", ("window_minutes",)),
        (lambda: LossSpike(metric="loss", window_minutes=1441), "LF986", ("window_minutes",)),
        (lambda: LossSpike(metric=" "), "LF986", ("metric",)),
        (lambda: Stall(metric="loss", minutes=1), "LF986", ("minutes",)),
        (lambda: Stall(metric="loss", minutes=1441), "LF986", ("minutes",)),
        (lambda: NotANumber(metric=""), "LF986", ("metric",)),
        (lambda: ThroughputDrop(metric="speed", below_fraction=1), "LF986", ("below_fraction",)),
        (lambda: ThroughputDrop(metric="speed", below_fraction=1.5), "LF986", ("below_fraction",)),
        (lambda: ThroughputDrop(metric="speed", below_fraction=0), "LF986", ("below_fraction",)),
        (lambda: ThroughputDrop(metric="speed", minutes=40), "LF986", ("minutes",)),
        (lambda: CheckpointLayout(known="huggingface"), "LF990", ("known",)),
        (lambda: CheckpointLayout.of(pattern="step_("), "LF990", ("pattern",)),
        (lambda: CheckpointLayout.of(pattern="step_"), "LF990", ("pattern",)),
        (lambda: CheckpointLayout.of(pattern=r"(step)_(\d+)"), "LF990", ("pattern",)),
        (lambda: CheckpointLayout.of(pattern=r"run/(\d+)"), "LF990", ("pattern",)),
        (lambda: CheckpointLayout.of(pattern=r"(\d+)", marker=""), "LF990", ("marker",)),
        (lambda: CheckpointLayout.of(pattern=r"(\d+)", pointer="/latest"), "LF990", ("pointer",)),
        (lambda: CheckpointLayout(), "LF990", ("pattern",)),
        (lambda: WatchedJobs(prefix="a-"), "LF989", ("prefix",)),
        (lambda: WatchedJobs(prefix="al*"), "LF989", ("prefix",)),
        (lambda: WatchedJobs(prefix="-alice"), "LF989", ("prefix",)),
        (lambda: WatchedJobs(prefix="a" * 49), "LF989", ("prefix",)),
        (lambda: WatchedJobs(prefix="alice-", checkpoints=["s3://bucket"]), "LF993", ("checkpoints", 0)),
        (lambda: WatchedJobs(prefix="alice-", checkpoints=["s3://bucket/*"]), "LF993", ("checkpoints", 0)),
        (lambda: JobWatch(conditions=[Stall(metric="a"), Stall(metric="b")]), "LF994", ("conditions", 1)),
        (lambda: JobWatch(grace_minutes=-1), "LF986", ("grace_minutes",)),
    ],
)
def test_a_value_tells_its_mistake(make: Callable[[], Any], code: str, path: tuple[str | int, ...]) -> None:
    with pytest.raises(FleetError) as told:
        make()
    assert [(problem.code.value, problem.path) for problem in told.value.problems] == [(code, path)]
    assert all(problem.remedy and not problem.message.endswith(".") for problem in told.value.problems)


def test_everything_wrong_is_told_at_once() -> None:
    with pytest.raises(FleetError) as told:
        ThroughputDrop(metric="", below_fraction=2, minutes=0)
    assert {problem.path for problem in told.value.problems} == {("metric",), ("below_fraction",), ("minutes",)}


def test_what_is_right_is_left_alone() -> None:
    RestartPolicy(maximum=0)
    RestartPolicy(back_off_seconds=7200)  # the longest wait follows
    LossSpike(metric="loss", factor=1.5, minutes=29)
    ThroughputDrop(metric="speed", below_fraction=0.99)
    CheckpointLayout.of(pattern=r"(?:iter|step)_(\d+)", marker="meta/done", pointer="latest")
    WatchedJobs(prefix="alice", checkpoints=["s3://bucket/alice/", f"s3://{TOKEN}/x"])
    assert [CheckpointLayout(known=layout) for layout in training_watch_facts().layouts]


def test_values_known_only_at_deployment_pass() -> None:
    LossSpike(metric=TOKEN)
    WatchedJobs(prefix=TOKEN, checkpoints=[TOKEN])
    assert check_cluster_arn(TOKEN) == []


def test_a_job_is_followed_or_told_why_not() -> None:
    assert check_followed(JOB) == []
    lacking = FollowedJob(name="llama", has_checkpoints=False, metrics=[], restarts=3, conditions={"stall": "loss"})
    found = check_followed(lacking, followed=["llama-"])
    assert [problem.code for problem in found] == [
        SageMakerCode.WATCH_NO_CHECKPOINTS,
        SageMakerCode.WATCH_METRIC,
        SageMakerCode.WATCH_TWICE,
    ]
    only_told = FollowedJob(name="llama", has_checkpoints=False, metrics=[], restarts=0, conditions={})
    assert check_followed(only_told, followed=["llama-large-"]) == []


def test_there_is_room_for_as_many_jobs_as_a_role_has_policies_but_one() -> None:
    assert check_room(["a"] * 9) == []
    assert [problem.code for problem in check_room(["a"] * 10)] == [SageMakerCode.WATCH_ROOM]


def test_settings_and_rules_have_their_longest() -> None:
    assert check_settings_size(3584) == check_pattern_size(2048) == []
    assert [problem.code.value for problem in (*check_settings_size(3585), *check_pattern_size(2049))] == ["LF992"] * 2


def test_others_that_are_restarted_have_roles_and_checkpoints() -> None:
    jobs = WatchedJobs(prefix="alice-")
    assert [problem.path for problem in check_others_restart(jobs, restarts=True)] == [("roles",), ("checkpoints",)]
    assert check_others_restart(jobs, restarts=False) == []


def test_the_rest() -> None:
    assert check_watch_name("a" * 48) == [] != check_watch_name("a" * 49)
    assert check_grace(0) == [] != check_grace(1441)
    assert check_followed_something(jobs=True, clusters=False) == []
    assert check_followed_something(jobs=False, clusters=False) != []
    assert check_prefixes(["a-", "ab-"], "others") == [] != check_prefixes(["a-", "a-"], "others")
    assert check_cluster_arn("arn:aws:sagemaker:us-west-2:111122223333:cluster/0123456789ab") == []
    assert check_cluster_arn("train") != [] != check_cluster_arn("arn:aws:eks:us-west-2:111122223333:cluster/a")


def test_a_cluster_is_one_of_hyperpod_and_named_once() -> None:
    assert check_watched_clusters(["train"], hyperpod=["train"], others=["pc"]) == []
    messages = [
        problem.message for problem in check_watched_clusters(["pc", "trian", "pc"], hyperpod=["train"], others=["pc"])
    ]
    assert messages == [
        "this is a ParallelCluster, and only HyperPod sends events of its nodes",
        "the fleet has no cluster of this name",
        "this is a ParallelCluster, and only HyperPod sends events of its nodes",
        "this cluster is named twice",
    ]


def test_every_restart_begins_with_the_prefix_that_its_job_is_watched_by() -> None:
    """Else its events would not be let through, and its role would not let it be made."""
    most = training_watch_facts().limits.restarts
    for prefix in ("a" * 47 + "-", "a" * 48):
        assert not check_prefix(prefix)
        assert all(successor_name(prefix.ljust(63, end), most).startswith(prefix) for end in "bc")
