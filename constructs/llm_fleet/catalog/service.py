"""Inference services around their servers: ECS tasks, load balancer and firewall, alarms and dashboards."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from llm_fleet.catalog.data_file import Limit, load, reader
from llm_fleet.catalog.neuron import NeuronInstance

_MIB_PER_GIB = 1024
_MINUTE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLimits:
    """What ECS and we ask of names and numbers of a service."""

    longest_name: int
    provider_prefixes: tuple[str, ...]
    """What no capacity provider's name may begin with."""
    grace_seconds_max: int
    stop_margin_seconds: int
    log_buffer: str
    """`max-buffer-size` of a non-blocking log driver."""
    open_files: int
    """`nofile` of a server: every stream of an answer is an open file."""
    shared_memory_mib: int
    """`/dev/shm` of a server, whose processes share tensors through it."""
    capabilities: tuple[str, ...]
    """Linux capabilities that a container may be given, in ECS's words."""


task_limits = reader(TaskLimits, "ecs_tasks", "limits")


def task_memory_mib(instance: NeuronInstance, *, managed: bool = False) -> int:
    """Return the MiB that a task, sidecars included, may have of `instance`.

    The rest is the kernel's and the host's programs'. On ECS Managed Instances (`managed`) more is left to them.
    """
    facts = load("ecs_tasks")["memory"]
    seen_by_kernel = instance.host_memory_gib * _MIB_PER_GIB * (100 - facts["kernel_percent"]) / 100
    return math.floor(seen_by_kernel) - int(facts["managed_host_mib" if managed else "host_mib"])


def task_cpu_units(instance: NeuronInstance) -> int:
    """Return the CPU units that a task may have of `instance`; the rest is for the agent and the driver's threads."""
    facts = load("ecs_tasks")["cpu"]
    return instance.vcpus * int(facts["units_per_vcpu"]) - int(facts["reserved_units"])


def load_seconds(*, weights_gib: float, source: str, compiled: bool) -> int:
    """Return how long a server may need from its start to its first healthy answer, in whole minutes' seconds.

    `source`: `s3`, `hub` or `image`. A model that is not `compiled` is compiled first, which takes an hour or more.
    """
    facts = load("ecs_tasks")["load"]
    seconds = facts["base_seconds"] + weights_gib / facts["gib_per_second"][source]
    if not compiled:
        seconds += facts["compile_seconds"] + weights_gib * facts["compile_seconds_per_gib"]
    return math.ceil(seconds / _MINUTE) * _MINUTE


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """How a load balancer asks a target whether it is well."""

    interval_seconds: int
    timeout_seconds: int
    healthy_threshold: int
    """Good answers in a row after which it gets requests."""
    unhealthy_threshold: int
    """Bad ones after which it gets none: a server that is busy with a long prompt may miss one or two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedRuleGroup:
    """A rule group of AWS's for WAF."""

    name: str
    counted: tuple[str, ...]
    """Its rules that only count, because prompts would be taken for attacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontFacts:
    """Limits and choices."""

    zones: int
    """AZs that an Application Load Balancer stands in at the least."""
    smallest_subnet_prefix: int
    addresses_per_subnet: int
    """Free addresses that it wants in each subnet, to grow."""
    longest_answer_seconds: Limit
    """What deregistration can wait for."""
    default_longest_answer_seconds: int
    idle_timeout_seconds: Limit
    idle_timeout_default_seconds: int
    """Elastic Load Balancing's own."""
    client_keep_alive_seconds: int
    """Elastic Load Balancing's own: how long a connection of a client is used before a new one is asked for."""
    tls_policy: str
    health_check: HealthCheck
    fixed_response_characters: int
    jwt_text_characters: int
    """Of an issuer, a JWKS endpoint, and a claim's value."""
    jwt_claims: int
    jwt_claim_values: int
    jwt_own_claims: tuple[str, ...]
    """Claims that are checked always and cannot be named."""
    certificate_arn: str
    """A regular expression with the group `region`, which is empty for a certificate in IAM."""
    secret_arn: str
    """A regular expression with the group `region`."""
    api_key_characters: int
    requests_per_five_minutes: Limit
    default_requests_per_five_minutes: int
    rate_window_seconds: int
    managed_rule_groups: tuple[ManagedRuleGroup, ...]
    answered_without_key: Mapping[str, tuple[str, ...]]
    """By kind of server, the paths below `/v1/` that it answers to whoever asks, key or no key."""


front_facts = reader(FrontFacts, "inference_front")


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


namespace = reader(str, "inference_monitoring", "namespace")
"""The CloudWatch namespace of the servers' metrics."""
collector_facts = reader(CollectorFacts, "inference_monitoring", "collector")
scaling_facts = reader(ScalingFacts, "inference_monitoring", "scaling")
alarm_facts = reader(AlarmFacts, "inference_monitoring", "alarms")
neuron_health_facts = reader(NeuronHealthFacts, "inference_monitoring", "neuron_health")


def neuron_health_memory_mib(*, recover: bool = False) -> int:
    """Return what the detector takes of its host's memory, with the recovery program where there is one."""
    facts = neuron_health_facts()
    return facts.detector_memory_mib + (facts.recovery_memory_mib if recover else 0)
