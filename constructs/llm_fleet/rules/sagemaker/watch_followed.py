"""What a watch asks of a training job before it looks after it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from llm_fleet.catalog.training_watch import training_watch_facts
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.watch_conditions import check_metrics_are_defined
from llm_fleet.rules.tokens import is_unresolved


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedJob:
    """What is asked of a job, and of how it is watched."""

    name: str
    has_checkpoints: bool
    metrics: Sequence[str]
    """Names of its metric definitions."""
    restarts: int
    """How often it is started again at most."""
    conditions: Mapping[str, str]
    """Kinds of conditions, and the metrics that they look at."""


def check_followed(job: FollowedJob, *, followed: Collection[str] = ()) -> list[Problem]:
    """Return why a watch could not look after `job`, beside the prefixes that it has `followed` until now."""
    return [
        *_check_checkpoints(job),
        *check_metrics_are_defined(job.conditions, job.metrics, job=job.name, path=("conditions",)),
        *_check_once(job.name, followed),
    ]


def check_room(jobs: Collection[str]) -> list[Problem]:
    """Return a problem when one watch's role cannot have a policy for each of `jobs`, beside its own."""
    most = training_watch_facts().limits.role_policies - 1
    if len(jobs) <= most:
        return []
    return [
        Problem(
            code=SageMakerCode.WATCH_ROOM,
            value=len(jobs),
            message=f"each job brings the watch's role a policy of its own, and IAM attaches {most + 1} to a role",
            allowed=f"up to {most} jobs",
            remedy="let another watch follow some of them, or watch jobs that share a role by a prefix of their names",
        )
    ]


def check_followed_something(*, jobs: bool, clusters: bool) -> list[Problem]:
    """Return a problem when a watch follows neither `jobs` nor `clusters`."""
    if jobs or clusters:
        return []
    return [
        Problem(
            code=SageMakerCode.WATCH_PREFIX,
            message="this watch follows no training job and no cluster, and would only cost",
            remedy="give it to a TrainingJob (`watch=`), or name `others` or `clusters`",
        )
    ]


def check_settings_size(characters: int) -> list[Problem]:
    """Return a problem when the settings are longer than what Lambda takes beside the other variables."""
    most = training_watch_facts().limits.environment_bytes - _OTHER_VARIABLES
    return _check_size(characters, most, "the settings of all jobs are longer than a function's variables may be")


def check_pattern_size(characters: int) -> list[Problem]:
    """Return a problem when a rule's pattern is longer than EventBridge takes."""
    most = training_watch_facts().limits.pattern_characters
    return _check_size(
        characters,
        most,
        "the names of all jobs, or the ARNs of all clusters, make a longer rule than EventBridge takes",
    )


_OTHER_VARIABLES = 512
"""Bytes: names and ARNs of table, queue and topic, whose length is known only when they are made."""


def _check_size(characters: int, most: int, message: str) -> list[Problem]:
    if characters <= most:
        return []
    return [
        Problem(
            code=SageMakerCode.WATCH_ROOM,
            value=characters,
            message=message,
            allowed=f"up to {most} characters",
            remedy="let another watch follow some of them, or give fewer jobs settings of their own",
        )
    ]


def _check_checkpoints(job: FollowedJob) -> list[Problem]:
    if job.has_checkpoints or is_unresolved(job.restarts) or not job.restarts:
        return []
    return [
        Problem(
            code=SageMakerCode.WATCH_NO_CHECKPOINTS,
            path=("checkpoints",),
            message=f"job {job.name} keeps no checkpoints, so that each restart would begin at step 0",
            remedy="give the job checkpoints, or let the watch restart it never (a maximum of 0) and only tell",
        )
    ]


def _check_once(name: str, followed: Collection[str]) -> list[Problem]:
    if f"{name}-" not in followed:
        return []
    return [
        Problem(
            code=SageMakerCode.WATCH_TWICE,
            path=("name",),
            value=name,
            message="jobs of this name are watched already",
            remedy="follow them once, and give each job a name of its own",
        )
    ]
