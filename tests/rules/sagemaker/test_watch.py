"""Rules of a watch."""

from typing import Any

import pytest

from llm_fleet.catalog.training_job import training_watch_facts
from llm_fleet.functions.training_watch.checkpoints import successor_name
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.sagemaker.watch import check_prefix, check_prefixes, check_watch
from llm_fleet.rules.sagemaker.watch_followed import (
    check_cluster_arn,
    check_followed,
    check_followed_something,
    check_pattern_size,
    check_room,
    check_settings_size,
    check_watch_name,
    check_watched_clusters,
)
from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet.spec.training_job_code import TrainingImage
from llm_fleet.spec.training_job_data import Checkpoints, JobMetric
from llm_fleet.spec.watch import (
    CheckpointLayout,
    JobWatch,
    LossSpike,
    NotANumber,
    RestartPolicy,
    Stall,
    ThroughputDrop,
    WatchConditions,
    WatchedJobs,
    WatchSpec,
)

TOKEN = "${Token[Somewhere.12]}"


def others(**given: Any) -> dict[str, Any]:
    """A watch that restarts nothing of the jobs `a`."""
    return {"restart": RestartPolicy(maximum=0), "others": {"a": WatchedJobs(**given)}}


def when(**given: Any) -> dict[str, Any]:
    """A watch with one condition."""
    return {"conditions": WatchConditions(**given)}


JOB = TrainingJobSpec(
    name="llama",
    image=TrainingImage.pytorch(),
    instance_type="ml.g5.xlarge",
    checkpoints=Checkpoints(),
    metrics={"loss": JobMetric(regex="loss=([0-9.]+)")},
)
BARE = JOB.model_copy(update={"checkpoints": None, "metrics": {}})
STALL = WatchConditions(stall=Stall(metric="loss"))


@pytest.mark.parametrize(
    ("given", "code", "where"),
    [
        ({"restart": RestartPolicy(maximum=-1)}, "LF985", "restart.maximum"),
        ({"restart": RestartPolicy(maximum=101)}, "LF985", "restart.maximum"),
        ({"restart": RestartPolicy(back_off_seconds=0)}, "LF985", "restart.back_off_seconds"),
        ({"restart": RestartPolicy(longest_back_off_seconds=59)}, "LF985", "restart.longest_back_off_seconds"),
        (when(loss_spike=LossSpike(metric="loss", factor=1)), "LF986", "conditions.loss_spike.factor"),
        (when(loss_spike=LossSpike(metric="loss", factor=0)), "LF986", "conditions.loss_spike.factor"),
        (when(loss_spike=LossSpike(metric="loss", factor=float("nan"))), "LF986", "conditions.loss_spike.factor"),
        (when(loss_spike=LossSpike(metric="loss", minutes=30)), "LF986", "conditions.loss_spike.minutes"),
        (when(loss_spike=LossSpike(metric="loss", window_minutes=3)), "LF986", "conditions.loss_spike.window_minutes"),
        (
            when(loss_spike=LossSpike(metric="loss", window_minutes=1441)),
            "LF986",
            "conditions.loss_spike.window_minutes",
        ),
        (when(loss_spike=LossSpike(metric=" ")), "LF986", "conditions.loss_spike.metric"),
        (when(stall=Stall(metric="loss", minutes=1)), "LF986", "conditions.stall.minutes"),
        (when(stall=Stall(metric="loss", minutes=1441)), "LF986", "conditions.stall.minutes"),
        (when(not_a_number=NotANumber(metric="")), "LF986", "conditions.not_a_number.metric"),
        (
            when(throughput_drop=ThroughputDrop(metric="speed", below_fraction=1)),
            "LF986",
            "conditions.throughput_drop.below_fraction",
        ),
        (
            when(throughput_drop=ThroughputDrop(metric="speed", below_fraction=1.5)),
            "LF986",
            "conditions.throughput_drop.below_fraction",
        ),
        (
            when(throughput_drop=ThroughputDrop(metric="speed", below_fraction=0)),
            "LF986",
            "conditions.throughput_drop.below_fraction",
        ),
        (
            when(throughput_drop=ThroughputDrop(metric="speed", minutes=40)),
            "LF986",
            "conditions.throughput_drop.minutes",
        ),
        ({"checkpoints": CheckpointLayout(known="huggingface")}, "LF990", "checkpoints.known"),
        ({"checkpoints": CheckpointLayout.of(pattern="step_(")}, "LF990", "checkpoints.pattern"),
        ({"checkpoints": CheckpointLayout.of(pattern="step_")}, "LF990", "checkpoints.pattern"),
        ({"checkpoints": CheckpointLayout.of(pattern=r"(step)_(\d+)")}, "LF990", "checkpoints.pattern"),
        ({"checkpoints": CheckpointLayout.of(pattern=r"run/(\d+)")}, "LF990", "checkpoints.pattern"),
        ({"checkpoints": CheckpointLayout.of(pattern=r"(\d+)", marker="")}, "LF990", "checkpoints.marker"),
        ({"checkpoints": CheckpointLayout.of(pattern=r"(\d+)", pointer="/latest")}, "LF990", "checkpoints.pointer"),
        ({"checkpoints": CheckpointLayout()}, "LF990", "checkpoints.pattern"),
        (others(prefix="a-"), "LF989", "others.a.prefix"),
        (others(prefix="al*"), "LF989", "others.a.prefix"),
        (others(prefix="-alice"), "LF989", "others.a.prefix"),
        (others(prefix="a" * 49), "LF989", "others.a.prefix"),
        (others(prefix="alice-", checkpoints=["s3://bucket"]), "LF993", "others.a.checkpoints[0]"),
        (others(prefix="alice-", checkpoints=["s3://bucket/*"]), "LF993", "others.a.checkpoints[0]"),
        ({"grace_minutes": -1}, "LF986", "grace_minutes"),
        ({"grace_minutes": 1441}, "LF986", "grace_minutes"),
    ],
)
def test_an_invalid_value_is_reported(given: dict[str, Any], code: str, where: str) -> None:
    problems = check_watch(WatchSpec(**given))
    assert [(problem.code.value, problem.where) for problem in problems] == [(code, where)]
    assert all(problem.remedy and not problem.message.endswith(".") for problem in problems)


def test_all_problems_are_reported_together() -> None:
    drop = ThroughputDrop(metric="", below_fraction=2, minutes=0)
    found = check_watch(WatchSpec(conditions=WatchConditions(throughput_drop=drop)))
    assert {problem.path[2:] for problem in found} == {("metric",), ("below_fraction",), ("minutes",)}


@pytest.mark.parametrize(
    "given",
    [
        {"restart": RestartPolicy(maximum=0)},
        {"restart": RestartPolicy(back_off_seconds=7200)},  # the longest wait follows
        {"conditions": WatchConditions(loss_spike=LossSpike(metric="loss", factor=1.5, minutes=29))},
        {"conditions": WatchConditions(throughput_drop=ThroughputDrop(metric="speed", below_fraction=0.99))},
        {"conditions": WatchConditions(stall=Stall(metric=TOKEN))},
        {"checkpoints": CheckpointLayout.of(pattern=r"(?:iter|step)_(\d+)", marker="meta/done", pointer="latest")},
        {"grace_minutes": 0},
        others(prefix="alice", checkpoints=["s3://bucket/alice/", f"s3://{TOKEN}/x"]),
        others(prefix=TOKEN, checkpoints=[TOKEN]),
        *({"checkpoints": CheckpointLayout(known=layout)} for layout in training_watch_facts().layouts),
    ],
)
def test_valid_watches_have_no_problems(given: dict[str, Any]) -> None:
    assert check_watch(WatchSpec(**given)) == []
    assert check_cluster_arn(TOKEN) == []


def test_a_job_is_watched_or_the_reason_is_reported() -> None:
    spike = WatchConditions(loss_spike=LossSpike(metric="loss"))
    assert check_followed(JOB, WatchSpec(conditions=STALL), JobWatch(conditions=spike)) == []
    found = check_followed(BARE, WatchSpec(conditions=STALL), followed=["llama-"])
    assert [problem.code for problem in found] == [
        SageMakerCode.WATCH_NO_CHECKPOINTS,
        SageMakerCode.WATCH_METRIC,
        SageMakerCode.WATCH_TWICE,
    ]
    only_reported = JobWatch(restart=RestartPolicy(maximum=0), conditions=WatchConditions())
    assert check_followed(BARE, WatchSpec(conditions=STALL), only_reported, followed=["llama-large-"]) == []


def test_the_number_of_jobs_is_limited_by_the_policies_of_a_role() -> None:
    assert check_room(["a"] * 9) == []
    assert [problem.code for problem in check_room(["a"] * 10)] == [SageMakerCode.WATCH_ROOM]


def test_the_size_of_settings_and_rules_is_limited() -> None:
    assert check_settings_size(3584) == check_pattern_size(2048) == []
    assert [problem.code.value for problem in (*check_settings_size(3585), *check_pattern_size(2049))] == ["LF992"] * 2


def test_jobs_of_others_require_roles_and_checkpoints_for_restarts() -> None:
    jobs = {"alice": WatchedJobs()}
    found = check_watch(WatchSpec(others=jobs))
    assert [problem.path for problem in found] == [("others", "alice", "roles"), ("others", "alice", "checkpoints")]
    assert check_watch(WatchSpec(others=jobs, restart=RestartPolicy(maximum=0))) == []


def test_name_prefixes_and_cluster_arn_are_checked() -> None:
    assert check_watch_name("a" * 48) == [] != check_watch_name("a" * 49)
    assert check_followed_something(jobs=True, clusters=False) == []
    assert check_followed_something(jobs=False, clusters=False) != []
    assert check_prefixes({"a": "a-", "b": "ab-"}) == []
    (twice,) = check_prefixes({"a": "a-", "b": "a-"})
    assert (twice.code, twice.path) == (SageMakerCode.WATCH_TWICE, ("others", "b", "prefix"))
    assert check_cluster_arn("arn:aws:sagemaker:us-west-2:111122223333:cluster/0123456789ab") == []
    assert check_cluster_arn("train") != [] != check_cluster_arn("arn:aws:eks:us-west-2:111122223333:cluster/a")


def test_a_watched_cluster_must_be_a_hyperpod_cluster_and_listed_once() -> None:
    assert check_watched_clusters(["train"], hyperpod=["train"], others=["pc"]) == []
    messages = [
        problem.message for problem in check_watched_clusters(["pc", "trian", "pc"], hyperpod=["train"], others=["pc"])
    ]
    assert messages == [
        "this is a cluster of AWS ParallelCluster, and only HyperPod sends events about its nodes",
        "the fleet has no cluster of this name",
        "this is a cluster of AWS ParallelCluster, and only HyperPod sends events about its nodes",
        "this cluster is listed twice",
    ]


def test_the_name_of_every_restart_begins_with_the_watched_prefix() -> None:
    """Otherwise the rule would not match its events, and the role could not create it."""
    most = training_watch_facts().limits.restarts
    for prefix in ("a" * 47 + "-", "a" * 48):
        assert not check_prefix(prefix)
        assert all(successor_name(prefix.ljust(63, end), most).startswith(prefix) for end in "bc")
