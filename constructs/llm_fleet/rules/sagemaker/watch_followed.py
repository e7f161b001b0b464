"""The name of a watch, the training jobs and clusters that it follows, and how many of them it can follow."""

import re
from collections.abc import Collection, Iterator, Sequence

from llm_fleet.catalog.data_file import Limit, load
from llm_fleet.catalog.training_job import training_watch_facts
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.problem import Problem, is_unresolved, rule, under
from llm_fleet.rules.sagemaker.watch import check_metrics_are_defined
from llm_fleet.rules.values import check_hyphenated_name, nearest
from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet.spec.watch import JobWatch, WatchSpec

_NAME = Limit(minimum=1, maximum=48, pattern=r"[a-zA-Z0-9](-*[a-zA-Z0-9])*")
"""Limit of llm-fleet: the names of the watch's queue and alarms begin with it."""


def check_watch_name(name: str) -> list[Problem]:
    """Return a problem unless `name` has 1 to 48 letters, digits and hyphens."""
    return check_hyphenated_name(name, _NAME, SageMakerCode.NAME, "name", what="name of the watch")


def check_followed(
    job: TrainingJobSpec, watch: WatchSpec, own: JobWatch | None = None, *, followed: Collection[str] = ()
) -> list[Problem]:
    """Return why `watch` cannot follow `job`.

    `own`: the settings of this job. `followed`: the prefixes that the watch already follows.
    """
    own = own or JobWatch()
    conditions = watch.conditions if own.conditions is None else own.conditions
    return [
        *_check_checkpoints(job, (own.restart or watch.restart).maximum),
        *check_metrics_are_defined(conditions.metrics, job.metrics, job=job.name, path=("conditions",)),
        *_check_once(job.name, followed),
    ]


def check_cluster_arn(arn: str, *path: str | int) -> list[Problem]:
    """Return a problem unless `arn` is the ARN of a HyperPod cluster."""
    if is_unresolved(arn) or (isinstance(arn, str) and re.fullmatch(load("cluster_arn")["pattern"], arn)):  # pyright: ignore[reportUnnecessaryIsInstance]
        return []
    return [
        Problem(
            code=SageMakerCode.WATCH_CLUSTER,
            path=path,
            value=arn,
            message="this is not the ARN of a HyperPod cluster, and only HyperPod sends events about its nodes",
            allowed="an ARN like arn:aws:sagemaker:us-west-2:111122223333:cluster/0123456789ab",
            remedy="write the cluster's ARN (see `aws sagemaker describe-cluster`), or pass the construct itself",
        )
    ]


def check_watched_clusters(
    names: Sequence[str], *, hyperpod: Sequence[str], others: Sequence[str], path: str = "clusters"
) -> list[Problem]:
    """Return a problem for each of `names` that is not one of the fleet's `hyperpod` clusters, or is repeated."""
    return [
        *(
            problem
            for index, name in enumerate(names)
            for problem in under(_check_cluster(name, hyperpod, others), path, index)
        ),
        *(
            Problem(
                code=SageMakerCode.WATCH_TWICE,
                path=(path, index),
                value=name,
                message="this cluster is listed twice",
                remedy="remove one of the two",
            )
            for index, name in enumerate(names)
            if name in names[:index]
        ),
    ]


def _check_cluster(name: str, hyperpod: Sequence[str], others: Sequence[str]) -> Iterator[Problem]:
    if name in hyperpod:
        return
    offered = ", ".join(hyperpod) or "none: the fleet has no HyperPod cluster"
    offer = nearest(name, hyperpod)
    yield Problem(
        code=SageMakerCode.WATCH_CLUSTER,
        value=name,
        message="this is a cluster of AWS ParallelCluster, and only HyperPod sends events about its nodes"
        if name in others
        else "the fleet has no cluster of this name",
        allowed=offered,
        remedy=f"write `{offer}`"
        if offer
        else "write a HyperPod cluster of the fleet, or remove `clusters` to watch all of them",
    )


def check_room(jobs: Collection[str]) -> list[Problem]:
    """Return a problem when the watch's role cannot have a policy for each of `jobs`, in addition to its own."""
    most = training_watch_facts().limits.role_policies - 1
    if len(jobs) <= most:
        return []
    return [
        Problem(
            code=SageMakerCode.WATCH_ROOM,
            value=len(jobs),
            message=f"each job adds a policy to the watch's role, and IAM allows {most + 1} policies per role",
            allowed=f"up to {most} jobs",
            remedy="use another watch for some of them, or watch jobs that share a role by a prefix of their names",
        )
    ]


def check_followed_something(*, jobs: bool, clusters: bool) -> list[Problem]:
    """Return a problem when a watch follows neither `jobs` nor `clusters`."""
    if jobs or clusters:
        return []
    return [
        Problem(
            code=SageMakerCode.WATCH_PREFIX,
            message="this watch has no effect: it follows neither training jobs nor clusters",
            remedy="pass it to a TrainingJob (`watch=`), or set `others` or `clusters`",
        )
    ]


def check_settings_size(characters: int) -> list[Problem]:
    """Return a problem when the settings exceed Lambda's limit for environment variables."""
    most = training_watch_facts().limits.environment_bytes - _OTHER_VARIABLES
    return _check_size(
        characters, most, "the settings of all jobs exceed the size of a Lambda function's environment variables"
    )


def check_pattern_size(characters: int) -> list[Problem]:
    """Return a problem when the pattern of a rule is longer than EventBridge allows."""
    most = training_watch_facts().limits.pattern_characters
    return _check_size(
        characters,
        most,
        "the names of all jobs, or the ARNs of all clusters, make an event pattern longer than EventBridge allows",
    )


_OTHER_VARIABLES = 512
"""Bytes for names and ARNs of table, queue and topic, whose length is known only at deployment."""


@rule
def _check_size(characters: int, most: int, message: str) -> Iterator[Problem]:
    if characters > most:
        yield Problem(
            code=SageMakerCode.WATCH_ROOM,
            value=characters,
            message=message,
            allowed=f"up to {most} characters",
            remedy="use another watch for some of them, or give fewer jobs their own settings",
        )


def _check_checkpoints(job: TrainingJobSpec, restarts: int) -> Iterator[Problem]:
    if job.checkpoints is None and not is_unresolved(restarts) and restarts:
        yield Problem(
            code=SageMakerCode.WATCH_NO_CHECKPOINTS,
            path=("checkpoints",),
            message=f"job {job.name} saves no checkpoints, so that each restart would begin at step 0",
            remedy="set the job's `checkpoints`, or disable restarts (a maximum of 0) so that the watch only notifies",
        )


def _check_once(name: str, followed: Collection[str]) -> Iterator[Problem]:
    if f"{name}-" in followed:
        yield Problem(
            code=SageMakerCode.WATCH_TWICE,
            path=("name",),
            value=name,
            message="jobs with this name are already watched",
            remedy="follow each job only once, and give each job its own name",
        )
