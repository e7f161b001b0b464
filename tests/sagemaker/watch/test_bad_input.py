"""What a watch refuses, and when."""

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Annotations, Match
from constructs import Construct

from llm_fleet import (
    CheckpointLayout,
    FleetError,
    JobWatch,
    RestartPolicy,
    Stall,
    TrainingWatch,
    WatchConditions,
    WatchedJobs,
    WatchSpec,
)
from tests.sagemaker.watch.conftest import make_role

KEY = "arn:aws:kms:us-west-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        ({"name": "my watch"}, ["LF900"]),
        ({"watch": RestartPolicy()}, ["LF113"]),
        ({"watch": WatchSpec(grace_minutes=2000)}, ["LF986"]),
        ({"clusters": ["train", 3]}, ["LF991", "LF991"]),
        ({"clusters": 3, "topic": "arn:aws:sns:us-west-2:111122223333:pager", "encryption_key": KEY}, ["LF113"] * 3),
        ({"watch": WatchSpec(others={"alice": WatchedJobs()})}, ["LF993", "LF993"]),
    ],
)
def test_arguments(stack: cdk.Stack, arguments: dict[str, Any], codes: list[str]) -> None:
    with pytest.raises(FleetError) as told:
        make({"name": "fleet"} | arguments, stack)
    assert [problem.code.value for problem in told.value.problems] == codes


def make(arguments: Any, stack: cdk.Stack) -> TrainingWatch:
    return TrainingWatch(stack, "Watch", **arguments)


@pytest.fixture
def watch(stack: cdk.Stack) -> TrainingWatch:
    return TrainingWatch(
        stack, "Watch", WatchSpec(conditions=WatchConditions(stall=Stall(metric="loss"))), name="fleet"
    )


def follow(watch: TrainingWatch, name: str, **more: Any) -> Any:
    scope = Construct(cdk.Stack.of(watch), f"Job-{name}{len(cdk.Stack.of(watch).node.children)}")
    asked: dict[str, Any] = {"has_checkpoints": True, "checkpoint_uri": "s3://a-bucket/x", "metrics": ["loss"]}
    return watch.follow(scope, name=name, role=make_role(scope), **(asked | more))


def refused(watch: TrainingWatch, name: str, **more: Any) -> list[str]:
    with pytest.raises(FleetError) as told:
        follow(watch, name, **more)
    return [problem.code.value for problem in told.value.problems]


def test_jobs(watch: TrainingWatch) -> None:
    assert refused(watch, "a", has_checkpoints=False, checkpoint_uri=None, metrics=[]) == ["LF988", "LF987"]
    assert refused(watch, "b", settings="none") == ["LF113"]
    assert refused(watch, "b", settings=JobWatch(grace_minutes=-1, checkpoints=CheckpointLayout())) == [
        "LF986",
        "LF990",
    ]
    assert refused(watch, "c", checkpoint_uri="${Token[Uri.1]}") == ["LF993"]
    told = JobWatch(restart=RestartPolicy(maximum=0), conditions=WatchConditions())
    assert follow(watch, "d", has_checkpoints=False, checkpoint_uri=None, metrics=[], settings=told) == {
        "llm-fleet:watch": "fleet"
    }
    for number in range(8):
        follow(watch, f"e{number}")
    assert refused(watch, "f") == ["LF992"]
    assert watch.answer_within_seconds == 3600 + 7200


def test_a_watch_of_nothing_is_told_at_synth(app: cdk.App, watch: TrainingWatch) -> None:
    with pytest.raises(RuntimeError, match="LF989"):
        app.synth()


def test_who_brings_a_key_from_elsewhere_is_told_what_it_must_let(stack: cdk.Stack) -> None:
    key = kms.Key.from_key_arn(stack, "Key", KEY)
    cluster = "arn:aws:sagemaker:us-west-2:111122223333:cluster/0123456789ab"
    TrainingWatch(stack, "Watch", name="fleet", clusters=[cluster], encryption_key=key)
    told = Match.string_like_regexp("must let events.amazonaws.com kms:Decrypt")
    assert len(Annotations.from_stack(stack).find_warning("*", told)) == 1
