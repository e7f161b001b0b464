"""What a training job's state machine is made from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAlarm:
    """An alarm that lives as long as a job: its metric has the job's name as dimension."""

    suffix: str
    """What follows the job's name in the alarm's, e.g. `train:loss-above`."""
    request: Mapping[str, Any]
    """PutMetricAlarm, without AlarmName and Dimensions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRecord:
    """Where the watch writes down what it decided about a job that ended."""

    table_name: str
    """Its table; may be a token."""
    ask_seconds: int
    """Between two questions."""
    asks_at_most: int
    """Questions after one job; then the watch counts as silent."""
    successors_at_most: int
    """Jobs that are followed after the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often a machine asks, so that its history never gets too long."""

    poll_seconds: int
    """Between two questions how the job is."""
    polls_at_most: int
    """Questions over all jobs of one execution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePlan:
    """Everything that the definition depends on. All texts but `name` and the alarms' may be tokens."""

    name: str
    """Begins every job's name."""
    partition: str
    """E.g. `aws`."""
    request: Mapping[str, Any]
    """CreateTrainingJob; its TrainingJobName, HyperParameters, Environment, CheckpointConfig.S3Uri are filled in."""
    pace: Pace
    """How often it asks."""
    quota_attempts: int
    """Times that a job is asked for again which the account's quota has no room for."""
    capacity_waits: tuple[int, ...]
    """Seconds before each further job after one that found no capacity; none under a watch, which does that."""
    alarms: tuple[RunAlarm, ...] = ()
    """Put for each job before it starts, deleted when it has ended."""
    watch: WatchRecord | None = None
    """`None`: nobody starts a failed job again."""
