"""How an inference service is watched and scaled: images, intervals, thresholds."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectorFacts:
    """The program beside a server that brings its metrics to CloudWatch."""

    image: str
    scrape_seconds: int
    scrape_timeout_seconds: int
    memory_mib: int
    memory_limiter_mib: int
    memory_spike_mib: int
    cpu_units: int
    restart_attempt_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingFacts:
    """How the number of tasks follows the load."""

    max_tasks: int
    desired: int
    """How many tasks there are when nobody told."""
    queue_target: float
    """Requests that may wait in a task on average."""
    scale_out_cooldown_seconds: int
    scale_in_cooldown_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmFacts:
    """When somebody is called."""

    waiting_per_batch: int
    """Requests waiting in a task, as a multiple of the batch."""
    time_to_first_token_seconds: int
    error_percent: int
    """Errors of the server in a hundred requests."""
    load_balancer_errors: int
    """Errors of the load balancer in five minutes."""
    rejected: int
    """Requests turned away in five minutes."""
    task_stops: int
    """Tasks that stopped by themselves in fifteen minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeuronHealthFacts:
    """The Neuron problem detector."""

    detector_image: str
    recovery_image: str
    oldest_driver: str
    namespace: str
    """CloudWatch namespace of the recovery program's metrics."""
    log_line: str
    """What the detector's log says before an error that it found."""
    errors: tuple[str, ...]
    """What the driver writes after `NEURON_HW_ERR=` into the kernel's log."""
    detector_memory_mib: int
    recovery_memory_mib: int
    cpu_units: int
    """Of each of the two containers."""


def namespace() -> str:
    """Return the CloudWatch namespace of the servers' metrics."""
    return str(load("inference_sight")["namespace"])


@cache
def collector_facts() -> CollectorFacts:
    """Return what is known of the collector."""
    return CollectorFacts(**load("inference_sight")["collector"])


@cache
def scaling_facts() -> ScalingFacts:
    """Return the figures of scaling."""
    return ScalingFacts(**load("inference_sight")["scaling"])


@cache
def alarm_facts() -> AlarmFacts:
    """Return the thresholds of alarms."""
    return AlarmFacts(**load("inference_sight")["alarms"])


@cache
def neuron_health_facts() -> NeuronHealthFacts:
    """Return what is known of the Neuron problem detector."""
    facts: dict[str, Any] = dict(load("inference_sight")["neuron_health"])
    facts["errors"] = tuple(facts["errors"])
    return NeuronHealthFacts(**facts)


def neuron_health_memory_mib(*, recover: bool = False) -> int:
    """Return what the detector takes of its host's memory, with the recovery program where there is one."""
    facts = neuron_health_facts()
    return facts.detector_memory_mib + (facts.recovery_memory_mib if recover else 0)
