"""What a message says, as a hint of where to look: what is so is asked of the services afterwards."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .cluster_event import ClusterEvent, parse_cluster_event
from .job_alarms import job_of_alarm

TRAINING = "SageMaker Training Job State Change"
ALARM = "CloudWatch Alarm State Change"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAtJob:
    """Something may have happened to a job."""

    job: str
    again: bool = True
    """Whether the look may ask for a later one; those of the sweep do not, as the next sweep comes anyway."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """Look for what was lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A message that is nobody's."""

    why: str


Hint = LookAtJob | ClusterEvent | Sweep | Unknown


def parse_event(body: Mapping[str, Any], *, alarm_prefix: str) -> Hint:
    """Return what a message's document hints at."""
    if body.get("kind") == "sweep":
        return Sweep()
    if body.get("kind") == "look":
        return _job(body.get("job"), again=bool(body.get("again", True)))
    if not isinstance(body.get("detail"), Mapping):
        return Unknown(why="neither an event nor a message of the watch")
    return _event(str(body.get("detail-type")), body, body["detail"], alarm_prefix)


def _event(kind: str, body: Mapping[str, Any], detail: Mapping[str, Any], alarm_prefix: str) -> Hint:
    if kind == TRAINING:
        return _job(detail.get("TrainingJobName"))
    if kind == ALARM:
        job = job_of_alarm(str(detail.get("alarmName")), alarm_prefix)
        return _job(job) if job else Unknown(why=f"alarm {detail.get('alarmName')} is not the watch's")
    event = parse_cluster_event(body, detail)
    return event or Unknown(why=f"an event of the kind {kind!r} is not expected")


def _job(name: object, *, again: bool = True) -> Hint:
    if not isinstance(name, str) or not name:
        return Unknown(why="the message names no job")
    return LookAtJob(job=name, again=again)
