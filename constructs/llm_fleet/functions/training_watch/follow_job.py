"""Checks one job and takes the next pending action; the sweep checks for missed ones.

Every action is recorded before or after it, so that the next check continues after a crash between any two of them,
whether a redelivered message, a duplicate event or the sweep starts it. The successor of a job is the same request with
its own name, from the right checkpoint.
"""

import itertools
import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from .checkpoints import CheckpointCopy, CheckpointGone, Layout, base_of, choose, stored_files
from .clusters import Parts
from .decide import (
    AFTER_TAG,
    ATTEMPT_TAG,
    COMPLETED,
    GIVE_UP,
    LEAVE,
    RESTART,
    ROOT_TAG,
    UNKNOWN,
    Decision,
    Divergence,
    Entry,
    JobFacts,
    decide,
    read_job,
    read_tags,
    verify,
)
from .settings import JobSettings, unmeasured

if TYPE_CHECKING:
    from mypy_boto3_sagemaker import SageMakerClient

CARRIED = (
    "AlgorithmSpecification",
    "CheckpointConfig",
    "DebugHookConfig",
    "DebugRuleConfigurations",
    "EnableInterContainerTrafficEncryption",
    "EnableManagedSpotTraining",
    "EnableNetworkIsolation",
    "Environment",
    "ExperimentConfig",
    "HyperParameters",
    "InfraCheckConfig",
    "InputDataConfig",
    "MlflowConfig",
    "ModelPackageConfig",
    "OutputDataConfig",
    "ProfilerConfig",
    "ProfilerRuleConfigurations",
    "RemoteDebugConfig",
    "ResourceConfig",
    "RetryStrategy",
    "RoleArn",
    "ServerlessJobConfig",
    "StoppingCondition",
    "TensorBoardOutputConfig",
    "VpcConfig",
)
"""All members of CreateTrainingJob that DescribeTrainingJob returns, which are all but SessionChainingConfig."""
REPORTED_ONLY = {"ResourceConfig": ("SelectedInstanceType", "SelectedInstanceCount")}
"""Fields that are "read-only and not accepted in CreateTrainingJob requests"."""
MORE_LATER = ("ResourceLimitExceeded", "ThrottlingException", "Throttling", "ServiceUnavailable", "InternalFailure")
"""Errors of CreateTrainingJob that may be temporary: quotas, and transient errors."""
TAKEN = "ResourceInUse"
_LONGEST_LIST_OF_TAGS = 50


class NameTaken(Exception):
    """A job with the successor's name exists, but it is not the successor."""


def restart_request(facts: JobFacts, successor: str, checkpoint_uri: str | None) -> dict[str, Any]:
    """Return CreateTrainingJob's request; `checkpoint_uri` replaces that of the checkpoints, unless `None`."""
    request = {name: facts.description[name] for name in CARRIED if facts.description.get(name) not in (None, {}, [])}
    for name, fields in REPORTED_ONLY.items():
        if name in request:
            request[name] = {key: value for key, value in request[name].items() if key not in fields}
    if checkpoint_uri is not None:
        request["CheckpointConfig"] = {**request["CheckpointConfig"], "S3Uri": checkpoint_uri}
    tags = _tags(facts)
    return {
        **request,
        "TrainingJobName": successor,
        "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
    }


def create(sagemaker: "SageMakerClient", facts: JobFacts, request: Mapping[str, Any]) -> None:
    """Create the successor, unless an earlier message has created it.

    Raises `NameTaken` for another job with the name, and other errors of the service.
    """
    try:
        sagemaker.create_training_job(**request)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != TAKEN:
            raise
        there = read_job(sagemaker, request["TrainingJobName"])
        if there is None or there.tags.get(AFTER_TAG) != facts.name:
            raise NameTaken(f"another training job is named {request['TrainingJobName']}") from error


def _tags(facts: JobFacts) -> dict[str, str]:
    own = {AFTER_TAG: facts.name, ATTEMPT_TAG: str(facts.attempt + 1), ROOT_TAG: facts.root}
    others = {key: value for key, value in facts.tags.items() if not key.startswith("aws:") and key not in own}
    # The last tags of the user are dropped above the limit of 50: without the watch's tags, the series is lost.
    kept = list(others.items())[: _LONGEST_LIST_OF_TAGS - len(own)]
    return {**dict(kept), **own}


_LOG = logging.getLogger(__name__)
MOST_TRIES = 48
"""Maximum attempts of CreateTrainingJob with quota errors, with the longest back-off between them."""
_FINAL = ("ValidationException", "ValidationError", "ResourceNotFound", "NoSuchBucket", "NoSuchKey", "404")
"""Permanent errors: an invalid request, or a deleted resource."""
_DENIED = ("AccessDeniedException", "AccessDenied", "403")
_MOST_DENIED = 5
"""Maximum attempts with a missing permission: a new one takes some time to propagate."""


def start_successor(parts: Parts, facts: JobFacts, entry: Entry, settings: JobSettings, *, again: bool) -> bool:
    """Do the next step of a restart; return whether it is finished: created, or given up.

    If it must wait, it schedules a later check with `again`. Raises transient errors of AWS.
    """
    due, successor = entry.number("due"), entry.text("successor")
    if due is None or successor is None:
        return True
    if parts.now() < due:
        if again:
            parts.later.look(facts.name, seconds=due - parts.now())
        return False
    try:
        uri = _place_checkpoint(parts, facts, entry, settings, successor)
        if uri is _UNFINISHED:
            parts.later.look(facts.name)
            return False
        create(parts.clients.sagemaker, facts, restart_request(facts, successor, uri))
    except (NameTaken, CheckpointGone) as error:
        parts.record.give_up(facts.name, f"{entry.text('reason')}; {error}")
        return True
    except ClientError as error:
        return _refused(parts, facts, entry, settings, error, again=again)
    parts.record.created(facts.name, parts.now())
    return True


_UNFINISHED = ""


def _place_checkpoint(parts: Parts, facts: JobFacts, entry: Entry, settings: JobSettings, successor: str) -> str | None:
    """Return the successor's checkpoint URI; `None`: its predecessor's; empty: the copy is not complete."""
    folder, divergence = entry.text("checkpoint"), entry.divergence
    if folder is None or divergence is None or facts.checkpoint_uri is None:
        return None
    # Under the first job's URI with the successor's name: anyone with access to that has access to this, and two series
    # of jobs with the same URI do not conflict.
    target = f"{base_of(facts.checkpoint_uri, facts.root, facts.attempt)}/{successor}"
    copy = CheckpointCopy(
        parts.clients.s3,
        source=facts.checkpoint_uri,
        target=target,
        layout=Layout.of(settings.layout),
        threads=parts.copy_threads,
    )
    done = copy.run(folder, before=divergence.onset, in_time=parts.in_time)
    return target if done else _UNFINISHED


def _refused(
    parts: Parts, facts: JobFacts, entry: Entry, settings: JobSettings, error: ClientError, *, again: bool
) -> bool:
    code = error.response.get("Error", {}).get("Code", "")
    tries = int(entry.number("tries") or 0) + 1
    _LOG.warning("%s cannot be restarted yet: %s", facts.name, error)
    most = 0 if code in _FINAL else _MOST_DENIED if code in _DENIED else MOST_TRIES
    if code not in (*_FINAL, *_DENIED, *MORE_LATER):
        raise error
    if tries > most:
        parts.record.give_up(facts.name, f"{entry.text('reason')}; CreateTrainingJob failed: {error}")
        return True
    wait = min(settings.backoff(min(tries, 16)), settings.backoff_most_seconds)
    parts.record.postpone(facts.name, until=parts.now() + wait, seen=entry.number("due") or 0, tries=tries)
    if again:
        parts.later.look(facts.name, seconds=wait)
    return False


def look_at_job(parts: Parts, name: str, *, again: bool = True) -> None:
    """Take the next action for a job; `again`: schedule a later check if it must wait."""
    entry = parts.record.read(name)
    if entry is not None and not entry.open:
        return
    facts = read_job(parts.clients.sagemaker, name) if parts.deployed_environment.may_watch(name) else None
    if facts is None or not parts.deployed_environment.watches(name, facts.tags):
        _LOG.info("%s is not a job of this watch", name)
        if entry is not None:
            _let_go(parts, name, entry)
        return
    if entry is None:
        parts.record.begin(name, {"root": facts.root, "attempt": facts.attempt})
        entry = _entry(parts, name)
    settings = parts.deployed_environment.settings.of(facts.root)
    if facts.ended:
        _look_at_ended(parts, facts, entry, settings, again=again)
    elif facts.status == "InProgress":
        _look_at_running(parts, facts, entry, settings, again=again)


def _let_go(parts: Parts, name: str, entry: Entry) -> None:
    """Close a job that the watch no longer has: deleted, moved to another watch, or of a deleted stack."""
    why = "it is deleted, or no longer a job of this watch"
    if entry.decision is None:
        parts.record.decide(name, Decision(decision=LEAVE, cause=UNKNOWN, reason=why), parts.now())
    elif entry.decision == RESTART:
        parts.record.give_up(name, why)
    entry = _entry(parts, name)
    _report_decision(parts, name, entry)
    parts.alarms.delete(name)
    parts.record.close(name)


def _look_at_running(parts: Parts, facts: JobFacts, entry: Entry, settings: JobSettings, *, again: bool) -> None:
    if entry.divergence:
        _stop(parts, facts, entry, entry.divergence)
        return
    if facts.secondary != "Training":
        return
    if entry.text("alarms") is None:
        _make_alarms(parts, facts, entry, settings)
    sickness = verify(facts, parts.alarms.firing(facts.name), settings, now=parts.now())
    if sickness.stop:
        parts.record.diverged(facts.name, sickness.stop)
        entry = _entry(parts, facts.name)
        if entry.divergence:
            _stop(parts, facts, entry, entry.divergence)
    elif sickness.notice:
        _notice(parts, facts.name, entry, sickness.notice)
    elif sickness.until and again:
        parts.later.look(facts.name, seconds=sickness.until - parts.now())


def _make_alarms(parts: Parts, facts: JobFacts, entry: Entry, settings: JobSettings) -> None:
    parts.alarms.put(facts.name, facts.metrics, settings)
    missing = unmeasured(facts.metrics, settings)
    if missing:
        _notice(parts, facts.name, entry, f"no alarm, because the job does not define the metric {', '.join(missing)}")
    parts.record.note(facts.name, "alarms", "made")


def _stop(parts: Parts, facts: JobFacts, entry: Entry, divergence: Divergence) -> None:
    # SIGTERM, then two minutes for the program to save: docs.aws.amazon.com/sagemaker/latest/APIReference/
    # API_StopTrainingJob.html. What it saves then is newer than the onset, and is never used to resume.
    parts.clients.sagemaker.stop_training_job(TrainingJobName=facts.name)
    _report_stop(parts, facts, entry, divergence)


def _report_stop(parts: Parts, facts: JobFacts, entry: Entry, divergence: Divergence) -> None:
    if entry.text("reported_stop") is None:
        reason = f"{divergence.kind}: it is stopped, to resume from an earlier checkpoint"
        parts.notifier.publish(about=facts.name, what="stop", words={"why": reason, "root": facts.root})
        parts.record.note(facts.name, "reported_stop", "stop")


def _notice(parts: Parts, job: str, entry: Entry, words: str) -> None:
    if entry.text("noticed") != words:
        parts.notifier.publish(about=job, what="notice", words={"why": words})
        parts.record.note(job, "noticed", words)


def _look_at_ended(parts: Parts, facts: JobFacts, entry: Entry, settings: JobSettings, *, again: bool) -> None:
    if entry.divergence:
        _report_stop(parts, facts, entry, entry.divergence)
    if entry.decision is None:
        _decide(parts, facts, entry.divergence, settings)
        entry = _entry(parts, facts.name)
    _report_decision(parts, facts.name, entry)
    parts.alarms.delete(facts.name)
    if entry.decision == RESTART and entry.text("created") is None:
        if not start_successor(parts, facts, entry, settings, again=again):
            return
        entry = _entry(parts, facts.name)
        _report_decision(parts, facts.name, entry)
    parts.record.close(facts.name)


def _decide(parts: Parts, facts: JobFacts, divergence: Divergence | None, settings: JobSettings) -> None:
    before = None
    if divergence and facts.status != "Completed" and facts.checkpoint_uri:
        files = stored_files(parts.clients.s3, facts.checkpoint_uri)
        before = choose(files, Layout.of(settings.layout), before=divergence.onset)
    decision = decide(facts, divergence, before, settings, now=parts.now())
    parts.record.decide(facts.name, decision, parts.now())


def _report_decision(parts: Parts, job: str, entry: Entry) -> None:
    if entry.decision is None or entry.text("reported") == entry.decision:
        return
    words = {"why": entry.text("reason"), "cause": entry.text("cause"), "root": entry.text("root")}
    if entry.decision != GIVE_UP:
        words |= {"restarted as": entry.text("successor")}
    what = COMPLETED if entry.text("cause") == COMPLETED else entry.decision
    parts.notifier.publish(about=job, what=what, words=words)
    parts.record.note(job, "reported", entry.decision)


def _entry(parts: Parts, job: str) -> Entry:
    return parts.record.read(job) or Entry(values={})


LOOK_BACK = 48 * 3600
"""Seconds: EventBridge tries to deliver an event for a day; this is twice that."""
_SINCE = "watch/since"
"""Key in the table; job names have no slashes."""


def sweep(parts: Parts) -> None:
    """Send a message to check every job that may need it, and delete alarms of finished jobs.

    Each check is its own message: a failure does not affect others, and is retried.
    """
    unfinished = set(parts.record.unfinished())
    for job in itertools.chain(sorted(unfinished), _unseen(parts, unfinished)):
        parts.later.look(job, again=False)
    for job in sorted(parts.alarms.jobs() - unfinished):
        entry = parts.record.read(job)
        if entry is None or not entry.open:
            _LOG.info("alarms of %s have no open job", job)
            parts.alarms.delete(job)


def _unseen(parts: Parts, unfinished: set[str]) -> Iterator[str]:
    """Yield running and recently ended jobs of the watch that are not in the table."""
    since = datetime.fromtimestamp(max(parts.now() - LOOK_BACK, _beginning(parts)), UTC)
    pages = parts.clients.sagemaker.get_paginator("list_training_jobs")
    both = (*pages.paginate(StatusEquals="InProgress"), *pages.paginate(LastModifiedTimeAfter=since))
    jobs = {job["TrainingJobName"]: job["TrainingJobArn"] for page in both for job in page["TrainingJobSummaries"]}
    # An account may have many other jobs, whose tags the watch cannot read: with prefixes, only matching jobs are read.
    likely = {name for name in jobs if parts.deployed_environment.may_watch(name)}
    for name in sorted(likely - unfinished - parts.record.known(likely)):
        if _may_be_ours(parts, name, jobs[name]):
            yield name


def _may_be_ours(parts: Parts, name: str, arn: str) -> bool:
    try:
        return parts.deployed_environment.watches(name, read_tags(parts.clients.sagemaker, arn))
    except ClientError as error:
        # The check of this job retries and fails on its own: one unreadable job must not end the sweep.
        _LOG.warning("the tags of %s could not be read: %s", name, error)
        return True


def _beginning(parts: Parts) -> float:
    """Return the time of the first sweep: jobs that ended before it are not restarted."""
    entry = parts.record.read(_SINCE)
    if entry is None:
        parts.record.begin(_SINCE, {"since": int(parts.now())}, to_do=False)
        entry = parts.record.read(_SINCE)
    return (entry.number("since") if entry else None) or parts.now()
