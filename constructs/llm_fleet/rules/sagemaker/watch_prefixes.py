"""Which jobs are a watch's, by what their names begin with."""

import re
from collections.abc import Sequence

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.training_watch import training_watch_facts
from llm_fleet.rules.names import check_hyphenated_name
from llm_fleet.rules.nearest import nearest
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.watch_protocols import WatchedJobsLike
from llm_fleet.rules.tokens import is_unresolved

_NAME = Limit(minimum=1, maximum=48, pattern=r"[a-zA-Z0-9](-*[a-zA-Z0-9])*")
"""Ours: names of the watch's queue and alarms begin with it."""
_PREFIX = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9])*-?")
_PREFIX_LENGTH = 48
"""Of 63 characters: a long name is shortened for a digest of it and the number of a restart, and what the watch starts
must begin as its events are let through and its role may."""
_S3_URI = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^*?$]+)")


def check_watch_name(name: str) -> list[Problem]:
    """Return a problem unless `name` may be a watch's."""
    return check_hyphenated_name(name, _NAME, SageMakerCode.NAME, "name", what="name of the watch")


def check_watched_jobs(jobs: WatchedJobsLike) -> list[Problem]:
    """Return what is wrong with jobs that others start, by the attributes of `WatchedJobsLike`."""
    return [
        *check_prefix(jobs.prefix),
        *(problem for index, uri in enumerate(jobs.checkpoints) for problem in _check_place(uri, index)),
    ]


def check_others_restart(jobs: WatchedJobsLike, *, restarts: bool) -> list[Problem]:
    """Return a problem for each thing without which `jobs` could not be started again."""
    if not restarts:
        return []
    missing = {
        "roles": ("what these jobs run as is not told: the watch could pass no role on", "write their execution roles"),
        "checkpoints": (
            "where these jobs keep checkpoints is not told: the watch could find none",
            "write the S3 URIs below which they lie",
        ),
    }
    return [
        Problem(
            code=SageMakerCode.WATCH_OTHERS,
            path=(attribute,),
            message=message,
            remedy=f"{remedy}, or let the watch restart nothing (a maximum of 0)",
        )
        for attribute, (message, remedy) in missing.items()
        if not getattr(jobs, attribute)
    ]


def check_prefix(prefix: str) -> list[Problem]:
    """Return a problem unless `prefix` is what names of some jobs begin with, and of few others."""
    if is_unresolved(prefix):
        return []
    least = training_watch_facts().limits.prefix_characters
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):  # pyright: ignore[reportUnnecessaryIsInstance]
        fault = "names of training jobs have letters, digits and hyphens, so that none begins with this"
    elif len(prefix) < least:
        fault = f"a prefix of fewer than {least} characters catches jobs that nobody meant"
    elif len(prefix) > _PREFIX_LENGTH:
        fault = "names of restarts are shortened to 63 characters, and must still begin with this"
    else:
        return []
    return [
        Problem(
            code=SageMakerCode.WATCH_PREFIX,
            path=("prefix",),
            value=prefix,
            message=fault,
            allowed=f"{least} to {_PREFIX_LENGTH} letters, digits and hyphens; a letter or digit first",
            remedy="write what the names of these jobs begin with, e.g. 'alice-' for the SDK's base_job_name='alice-…'",
        )
    ]


def check_prefixes(prefixes: Sequence[str], *path: str) -> list[Problem]:
    """Return a problem for each of `prefixes` that is there already. Of two within each other, the longer decides."""
    return [
        Problem(
            code=SageMakerCode.WATCH_TWICE,
            path=(*path, index, "prefix"),
            value=prefix,
            message="jobs of this prefix are watched already",
            remedy="leave one of the two out",
        )
        for index, prefix in enumerate(prefixes)
        if prefix in prefixes[:index]
    ]


def check_cluster_arn(arn: str, *path: str | int) -> list[Problem]:
    """Return a problem unless `arn` is a HyperPod cluster's."""
    if is_unresolved(arn) or (isinstance(arn, str) and re.fullmatch(load("cluster_arn")["pattern"], arn)):  # pyright: ignore[reportUnnecessaryIsInstance]
        return []
    return [
        Problem(
            code=SageMakerCode.WATCH_CLUSTER,
            path=path,
            value=arn,
            message="this is no ARN of a HyperPod cluster, and only HyperPod sends events of its nodes",
            allowed="an ARN like arn:aws:sagemaker:us-west-2:111122223333:cluster/0123456789ab",
            remedy="write the cluster's ARN (aws sagemaker describe-cluster), or give the construct itself",
        )
    ]


def check_watched_clusters(
    names: Sequence[str], *, hyperpod: Sequence[str], others: Sequence[str], path: str = "clusters"
) -> list[Problem]:
    """Return a problem for each of `names` that is none of the fleet's `hyperpod` clusters, or is there twice."""
    return [
        *(
            problem.under(path, index)
            for index, name in enumerate(names)
            for problem in _check_cluster(name, hyperpod, others)
        ),
        *(
            Problem(
                code=SageMakerCode.WATCH_TWICE,
                path=(path, index),
                value=name,
                message="this cluster is named twice",
                remedy="leave one of the two out",
            )
            for index, name in enumerate(names)
            if name in names[:index]
        ),
    ]


def _check_cluster(name: str, hyperpod: Sequence[str], others: Sequence[str]) -> list[Problem]:
    if name in hyperpod:
        return []
    offered = ", ".join(hyperpod) or "none: the fleet has no HyperPod cluster"
    offer = nearest(name, hyperpod)
    return [
        Problem(
            code=SageMakerCode.WATCH_CLUSTER,
            value=name,
            message="this is a ParallelCluster, and only HyperPod sends events of its nodes"
            if name in others
            else "the fleet has no cluster of this name",
            allowed=offered,
            remedy=f"write {offer!r}"
            if offer
            else "name a HyperPod cluster of the fleet, or leave it out for all of them",
        )
    ]


def _check_place(uri: str, index: int) -> list[Problem]:
    if is_unresolved(uri) or (isinstance(uri, str) and _S3_URI.fullmatch(uri)):  # pyright: ignore[reportUnnecessaryIsInstance]
        return []
    return [
        Problem(
            code=SageMakerCode.WATCH_OTHERS,
            path=("checkpoints", index),
            value=uri,
            message="this is no prefix of a bucket below which checkpoints lie",
            allowed="s3://<bucket>/<prefix>, without `*`, `?` or `$`",
            remedy="write e.g. 's3://my-bucket/alice'; a whole bucket would let the watch write anywhere in it",
        )
    ]
