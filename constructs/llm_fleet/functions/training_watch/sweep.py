"""Looks for what was lost: events that never came, restarts whose message is gone, alarms of jobs that are."""

import itertools
import logging
from collections.abc import Iterator
from datetime import UTC, datetime

from botocore.exceptions import ClientError

from .job_facts import read_tags
from .parts import Parts

_LOG = logging.getLogger(__name__)
LOOK_BACK = 48 * 3600
"""Seconds: EventBridge tries to deliver an event for a day; this is twice that."""
_SINCE = "watch/since"
"""Key of the table; no job's name has a slash."""


def sweep(parts: Parts) -> None:
    """Ask for a look at every job that may need one, and delete alarms whose job is finished.

    The looks are messages of their own: one that fails hinders no other, and is tried again like any.
    """
    unfinished = set(parts.record.unfinished())
    for job in itertools.chain(sorted(unfinished), _unseen(parts, unfinished)):
        parts.later.look(job, again=False)
    for job in sorted(parts.alarms.jobs() - unfinished):
        entry = parts.record.read(job)
        if entry is None or not entry.open:
            _LOG.info("alarms of %s are left over", job)
            parts.alarms.delete(job)


def _unseen(parts: Parts, unfinished: set[str]) -> Iterator[str]:
    """Yield the watch's jobs that the table knows nothing of: those that run, and those that ended lately."""
    since = datetime.fromtimestamp(max(parts.now() - LOOK_BACK, _beginning(parts)), UTC)
    pages = parts.clients.sagemaker.get_paginator("list_training_jobs")
    both = (*pages.paginate(StatusEquals="InProgress"), *pages.paginate(LastModifiedTimeAfter=since))
    jobs = {job["TrainingJobName"]: job["TrainingJobArn"] for page in both for job in page["TrainingJobSummaries"]}
    # Others' jobs may be many, and their tags not the watch's to read: where names tell, only those are asked.
    likely = {name for name in jobs if parts.surroundings.may_watch(name)}
    for name in sorted(likely - unfinished - parts.record.known(likely)):
        if _may_be_ours(parts, name, jobs[name]):
            yield name


def _may_be_ours(parts: Parts, name: str, arn: str) -> bool:
    try:
        return parts.surroundings.watches(name, read_tags(parts.clients.sagemaker, arn))
    except ClientError as error:
        # Its own look asks again, and fails by itself: one job that may not be asked for must not end the sweep.
        _LOG.warning("whose %s is cannot be told: %s", name, error)
        return True


def _beginning(parts: Parts) -> float:
    """Return when the watch swept first: what ended before that was nobody's to start again."""
    entry = parts.record.read(_SINCE)
    if entry is None:
        parts.record.begin(_SINCE, {"since": int(parts.now())}, to_do=False)
        entry = parts.record.read(_SINCE)
    return (entry.number("since") if entry else None) or parts.now()
