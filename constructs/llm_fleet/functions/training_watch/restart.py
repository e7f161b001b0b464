"""Starts the job that was decided on: the same request, under its own name, from the right checkpoint."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from .checkpoints import CheckpointCopy, CheckpointGone, Layout, base_of
from .decide import AFTER_TAG, ATTEMPT_TAG, ROOT_TAG, JobFacts, read_job
from .parts import Parts
from .record import Entry
from .settings import JobSettings

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
"""Every member of CreateTrainingJob's request that DescribeTrainingJob tells; not told is SessionChainingConfig."""
TOLD_ONLY = {"ResourceConfig": ("SelectedInstanceType", "SelectedInstanceCount")}
"""Fields that are "read-only and not accepted in CreateTrainingJob requests"."""
MORE_LATER = ("ResourceLimitExceeded", "ThrottlingException", "Throttling", "ServiceUnavailable", "InternalFailure")
"""What CreateTrainingJob answers when it may succeed later: quotas, and what passes."""
TAKEN = "ResourceInUse"
_LONGEST_LIST_OF_TAGS = 50


class NameTaken(Exception):
    """There is a job of the successor's name, and it is somebody else's."""


def restart_request(facts: JobFacts, successor: str, checkpoint_uri: str | None) -> dict[str, Any]:
    """Return CreateTrainingJob's request; `checkpoint_uri` replaces the place of the checkpoints, if there is one."""
    request = {name: facts.description[name] for name in CARRIED if facts.description.get(name) not in (None, {}, [])}
    for name, fields in TOLD_ONLY.items():
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
    """Create the successor; when a redelivered message has created it already, that is as good.

    Raises `NameTaken` when the name is somebody else's, and what the service answers otherwise.
    """
    try:
        sagemaker.create_training_job(**request)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != TAKEN:
            raise
        there = read_job(sagemaker, request["TrainingJobName"])
        if there is None or there.tags.get(AFTER_TAG) != facts.name:
            raise NameTaken(f"there is a training job {request['TrainingJobName']} that is not this one's") from error


def _tags(facts: JobFacts) -> dict[str, str]:
    own = {AFTER_TAG: facts.name, ATTEMPT_TAG: str(facts.attempt + 1), ROOT_TAG: facts.root}
    others = {key: value for key, value in facts.tags.items() if not key.startswith("aws:") and key not in own}
    # The user's tags give way, the last first, when a resource's 50 are not enough: without ours the line is lost.
    kept = list(others.items())[: _LONGEST_LIST_OF_TAGS - len(own)]
    return {**dict(kept), **own}


_LOG = logging.getLogger(__name__)
MOST_TRIES = 48
"""Times that CreateTrainingJob may be refused for quota, the longest back-off apart, before the restart is given up."""
_FINAL = ("ValidationException", "ValidationError", "ResourceNotFound", "NoSuchBucket", "NoSuchKey", "404")
"""What no later try changes: the request, or a thing that it needs and is gone."""
_DENIED = ("AccessDeniedException", "AccessDenied", "403")
_MOST_DENIED = 5
"""Times that a permission may be missing: a new one takes a while until it is known everywhere."""


def start_successor(parts: Parts, facts: JobFacts, entry: Entry, settings: JobSettings, *, again: bool) -> bool:
    """Take the restart further; returns whether it is over: made, or given up.

    Where it is to be waited for, a later look is asked for if `again`. Raises what AWS answers and may pass.
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
    """Return where the successor's checkpoints are, none: where its predecessor's are, empty: not all copied yet."""
    folder, divergence = entry.text("checkpoint"), entry.divergence
    if folder is None or divergence is None or facts.checkpoint_uri is None:
        return None
    # Below the first job's place and by the successor's name: whoever may use that may use this, and two lines of
    # jobs that share the place do not meet.
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
    _LOG.warning("%s cannot go on yet: %s", facts.name, error)
    most = 0 if code in _FINAL else _MOST_DENIED if code in _DENIED else MOST_TRIES
    if code not in (*_FINAL, *_DENIED, *MORE_LATER):
        raise error
    if tries > most:
        parts.record.give_up(facts.name, f"{entry.text('reason')}; it cannot be started: {error}")
        return True
    wait = min(settings.backoff(min(tries, 16)), settings.backoff_most_seconds)
    parts.record.postpone(facts.name, until=parts.now() + wait, seen=entry.number("due") or 0, tries=tries)
    if again:
        parts.later.look(facts.name, seconds=wait)
    return False
