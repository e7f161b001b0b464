"""How much of a host one serving task may have, how long its server needs to load and to stop, and ECS's limits."""

import math
from dataclasses import dataclass

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.neuron_devices import NeuronInstance

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


def task_limits() -> TaskLimits:
    """Return ECS's limits."""
    facts = load("ecs_tasks")
    return TaskLimits(
        longest_name=facts["name"]["longest"],
        provider_prefixes=tuple(facts["name"]["provider_prefixes"]),
        grace_seconds_max=facts["grace_seconds_max"],
        stop_margin_seconds=facts["stop_margin_seconds"],
        log_buffer=facts["log_buffer"],
        open_files=facts["open_files"],
        shared_memory_mib=facts["shared_memory_mib"],
        capabilities=tuple(facts["capabilities"]),
    )


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
