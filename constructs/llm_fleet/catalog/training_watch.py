"""What the services allow a watch over training jobs, and what it does when nobody tells."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchLimits:
    """Bounds of what a watch may be told."""

    role_policies: int
    """Managed policies that a role may have."""
    environment_bytes: int
    """Of all variables of a function."""
    pattern_characters: int
    """Of an event pattern."""
    alarm_window_minutes: int
    """How far back one alarm looks at most."""
    restarts: int
    """Of one job; ours."""
    back_off_seconds: int
    """Ours: who waits for longer than a day wants a schedule."""
    prefix_characters: int
    """Ours: a shorter prefix of job names catches what nobody meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartFacts:
    """How a failed job is started again."""

    maximum: int
    back_off_seconds: int
    longest_back_off_seconds: int
    at_max_runtime: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSpikeFacts:
    """When a loss has spiked."""

    factor: float
    minutes: int
    window_minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StallFacts:
    """When a job stands still."""

    minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputDropFacts:
    """When a job has become slow."""

    below_fraction: float
    minutes: int
    window_minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchQueueFacts:
    """How the queue and the function behind it work together."""

    timeout_seconds: int
    visibility_per_timeout: int
    """How many times the function's timeout a message stays hidden."""
    receives: int
    """How often a message is tried before it is put aside."""
    retention_days: int
    concurrency: int
    """How many runs there are at most for the queue."""
    memory_mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingWatchFacts:
    """Everything that is known of a watch."""

    limits: WatchLimits
    restart: RestartFacts
    loss_spike: LossSpikeFacts
    stall: StallFacts
    throughput_drop: ThroughputDropFacts
    queue: WatchQueueFacts
    layouts: tuple[str, ...]
    """Ways of writing checkpoints that the function knows by name."""
    tag: str
    """Tag whose value is the name of the watch that looks after a job."""
    alarm_prefix: str
    """What names of the alarms of all watches begin with; the watch's name and a slash follow."""
    grace_minutes: int
    """How long a job trains before a condition is believed."""
    onset_margin_seconds: int
    """How much older than the trouble a checkpoint must be to be trusted."""
    metric_period_seconds: int
    """Of what length the data points of its alarms are."""
    sweep_minutes: int
    """How often it looks for what no event told."""
    decision_seconds: int
    """How long a decision may take, beside the wait before a restart: two full redeliveries of a message."""
    old_message_minutes: int
    """How old a message gets before somebody is called."""


@cache
def training_watch_facts() -> TrainingWatchFacts:
    """Return what is known of a watch."""
    facts: dict[str, Any] = dict(load("training_watch"))
    nested: dict[str, Any] = {
        "limits": WatchLimits,
        "restart": RestartFacts,
        "loss_spike": LossSpikeFacts,
        "stall": StallFacts,
        "throughput_drop": ThroughputDropFacts,
        "queue": WatchQueueFacts,
    }
    read = {name: of(**facts.pop(name)) for name, of in nested.items()}
    layouts = tuple(facts.pop("layouts"))
    return TrainingWatchFacts(**read, **facts, layouts=layouts)
