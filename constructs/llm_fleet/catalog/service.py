"""Inference services: ECS tasks, load balancer, AWS WAF, scaling, alarms and Neuron health."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from llm_fleet.catalog.data_file import Limit, load, reader
from llm_fleet.catalog.neuron import NeuronInstance

_MIB_PER_GIB = 1024
_MINUTE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLimits:
    """Limits of a service's names and numbers, of ECS and our own."""

    longest_name: int
    provider_prefixes: tuple[str, ...]
    """Prefixes that ECS does not allow for capacity provider names."""
    grace_seconds_max: int
    stop_margin_seconds: int
    log_buffer: str
    """`max-buffer-size` of a non-blocking log driver."""
    open_files: int
    """`nofile` of a server: each streamed answer uses a file descriptor."""
    shared_memory_mib: int
    """`/dev/shm` of a server, whose processes share tensors through it."""
    capabilities: tuple[str, ...]
    """Linux capabilities that ECS can add to a container."""


task_limits = reader(TaskLimits, "ecs_tasks", "limits")


def task_memory_mib(instance: NeuronInstance, *, managed: bool = False) -> int:
    """Return the MiB that a task, including sidecars, can use on `instance`.

    The rest is for the kernel and the host's programs. On ECS Managed Instances (`managed`) they get more.
    """
    facts = load("ecs_tasks")["memory"]
    seen_by_kernel = instance.host_memory_gib * _MIB_PER_GIB * (100 - facts["kernel_percent"]) / 100
    return int(seen_by_kernel) - int(facts["managed_host_mib" if managed else "host_mib"])


def task_cpu_units(instance: NeuronInstance) -> int:
    """Return the CPU units that a task can use on `instance`; the rest is for the agent and the driver's threads."""
    facts = load("ecs_tasks")["cpu"]
    return instance.vcpus * int(facts["units_per_vcpu"]) - int(facts["reserved_units"])


def load_seconds(*, weights_gib: float, source: str, compiled: bool) -> int:
    """Return the seconds, in whole minutes, that a server can need from its start to its first successful health check.

    `source`: `s3`, `hub` or `image`. A model that is not `compiled` is compiled first, for an hour or more.
    """
    facts = load("ecs_tasks")["load"]
    seconds = facts["base_seconds"] + weights_gib / facts["gib_per_second"][source]
    if not compiled:
        seconds += facts["compile_seconds"] + weights_gib * facts["compile_seconds_per_gib"]
    return math.ceil(seconds / _MINUTE) * _MINUTE


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """Health check of a load balancer's target group."""

    interval_seconds: int
    timeout_seconds: int
    healthy_threshold: int
    """Consecutive successful checks after which a target gets requests."""
    unhealthy_threshold: int
    """Consecutive failed checks after which it gets none; a busy server may fail one or two during a long prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedRuleGroup:
    """An AWS managed rule group of AWS WAF."""

    name: str
    counted: tuple[str, ...]
    """Its rules in count mode, because they would block prompts as attacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontFacts:
    """Limits and settings of load balancer, WAF and authentication."""

    zones: int
    """Minimum number of AZs of an Application Load Balancer."""
    smallest_subnet_prefix: int
    addresses_per_subnet: int
    """Free IP addresses that it needs in each subnet for scaling."""
    longest_answer_seconds: Limit
    """Limits of the deregistration delay."""
    default_longest_answer_seconds: int
    idle_timeout_seconds: Limit
    idle_timeout_default_seconds: int
    """Default of Elastic Load Balancing."""
    client_keep_alive_seconds: int
    """Default of Elastic Load Balancing: maximum lifetime of a client connection."""
    tls_policy: str
    health_check: HealthCheck
    fixed_response_characters: int
    jwt_text_characters: int
    """Maximum length of an issuer, a JWKS endpoint and a claim's value."""
    jwt_claims: int
    jwt_claim_values: int
    jwt_own_claims: tuple[str, ...]
    """Claims that the load balancer always checks; users cannot set them."""
    certificate_arn: str
    """A regular expression with the group `region`, which is empty for an IAM certificate."""
    secret_arn: str
    """A regular expression with the group `region`."""
    api_key_characters: int
    requests_per_five_minutes: Limit
    default_requests_per_five_minutes: int
    rate_window_seconds: int
    managed_rule_groups: tuple[ManagedRuleGroup, ...]
    answered_without_key: Mapping[str, tuple[str, ...]]
    """Paths under `/v1/` that need no API key, by kind of server."""


front_facts = reader(FrontFacts, "inference_front")


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectorFacts:
    """The sidecar that sends a server's metrics to CloudWatch."""

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
    """Defaults of auto scaling."""

    max_tasks: int
    desired: int
    """Default number of tasks."""
    queue_target: float
    """Scaling target: average number of waiting requests of a task."""
    scale_out_cooldown_seconds: int
    scale_in_cooldown_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmFacts:
    """Default thresholds of service alarms."""

    waiting_per_batch: int
    """Waiting requests of a task, as a multiple of the batch size."""
    time_to_first_token_seconds: int
    error_percent: int
    """Server errors in percent of requests."""
    load_balancer_errors: int
    """Load balancer errors in five minutes."""
    rejected: int
    """Rejected requests in five minutes."""
    task_stops: int
    """Tasks that stopped unexpectedly in fifteen minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeuronHealthFacts:
    """Facts about the Neuron node problem detector."""

    detector_image: str
    recovery_image: str
    oldest_driver: str
    namespace: str
    """CloudWatch namespace of the recovery program's metrics."""
    log_line: str
    """Text before an error in the detector's log."""
    errors: tuple[str, ...]
    """Error names that the driver writes after `NEURON_HW_ERR=` to the kernel log."""
    detector_memory_mib: int
    recovery_memory_mib: int
    cpu_units: int
    """CPU units of each of the two containers."""


namespace = reader(str, "inference_monitoring", "namespace")
"""The CloudWatch namespace of the servers' metrics."""
collector_facts = reader(CollectorFacts, "inference_monitoring", "collector")
scaling_facts = reader(ScalingFacts, "inference_monitoring", "scaling")
alarm_facts = reader(AlarmFacts, "inference_monitoring", "alarms")
neuron_health_facts = reader(NeuronHealthFacts, "inference_monitoring", "neuron_health")


def neuron_health_memory_mib(*, recover: bool = False) -> int:
    """Return the MiB of the detector on its host, including the recovery program if `recover`."""
    facts = neuron_health_facts()
    return facts.detector_memory_mib + (facts.recovery_memory_mib if recover else 0)
