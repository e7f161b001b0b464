"""Endpoints of SageMaker: settings and limits, instance types, images and AMIs, and what the services allow around one.

Around one are capture, scaling, rollouts, lifetime, budget and alarms.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

from llm_fleet.catalog.data_file import KEY, Limit, load, reader, typed
from llm_fleet.catalog.ec2_instances import Architecture, ec2_instance, gpu_memory_mib
from llm_fleet.catalog.neuron import neuron_instance


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """Limits and defaults."""

    name: Limit
    """Of the endpoint."""
    variant: str
    """The name of the one variant of an endpoint."""
    instance_count: Limit
    volume_gib: Limit
    """The EBS volume of an instance."""
    timeout_seconds: Limit
    """Of both waits at the start: for the model's data, and for the first healthy answer."""
    environment: Limit
    """How many variables a container gets."""
    environment_key: Limit
    environment_value: Limit
    environment_bytes: int
    """All of them together."""
    reserved_environment: tuple[str, ...]
    """What names begin with that SageMaker sets by itself."""
    secret_environment: tuple[str, ...]
    """Names whose values are secrets."""
    model_address: Limit
    """An address in S3."""
    usable_share: float
    """Which part of an accelerator's memory a server takes."""
    image_gib: int
    """What the image takes of the volume."""
    bytes_per_parameter: int
    """What servers hold a weight in."""
    default_volume_gib: int
    """The volume for a model whose size is not known."""


endpoint_settings = reader(EndpointSettings, "endpoint_settings")


_PREFIX = "ml."
_MIB_OF_GIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointInstance:
    """One instance type, under its `ml.` name. `None` stands for what no source tells."""

    name: str
    architecture: Architecture | None
    accelerator: Literal["gpu", "neuron"] | None
    """What computes; `None` for processors alone, and where no source tells."""
    accelerators: int
    """GPUs or Neuron devices."""
    accelerator_mib: int | None
    """Memory of one of them."""
    memory_gib: float | None
    """Memory of the host."""
    local_disk_gb: int
    """All local disks together; 0 for a type whose storage is an EBS volume."""
    known: bool
    """Whether EC2 tells of this type at all."""

    @property
    def family(self) -> str:
        """The family without prefix and size, e.g. `g4dn`."""
        return family_of(self.name)

    @property
    def ec2_name(self) -> str:
        """The name without `ml.`, as EC2 has it."""
        return self.name.removeprefix(_PREFIX)


def family_of(instance_type: str) -> str:
    """Return the family of an instance type, with or without `ml.` before it."""
    return instance_type.removeprefix(_PREFIX).partition(".")[0]


_families = reader(Mapping[str, tuple[str, ...]], "endpoint_instances", "families")
retired_endpoint_families = reader(Mapping[str, str], "endpoint_instances", "retired")
"""The families that are gone, each with the one that came after it."""


@cache
def endpoint_instance_names() -> tuple[str, ...]:
    """Return the names of all types that SageMaker's API takes for an endpoint and that are not retired."""
    retired = retired_endpoint_families()
    return tuple(
        f"{_PREFIX}{family}.{size}" for family, sizes in _families().items() if family not in retired for size in sizes
    )


@cache
def endpoint_instance(name: str) -> EndpointInstance | None:
    """Return the facts of the type `name`, e.g. `ml.g4dn.xlarge`; `None` for one that endpoints do not have."""
    if name not in endpoint_instance_names():
        return None
    facts = ec2_instance(name.removeprefix(_PREFIX))
    return EndpointInstance(
        name=name,
        architecture=facts.architecture if facts else None,
        accelerator=facts.accelerator if facts else None,
        accelerators=facts.accelerators if facts else 0,
        accelerator_mib=_memory_mib(name),
        memory_gib=facts.memory_gib if facts else None,
        local_disk_gb=facts.instance_store_gb if facts else 0,
        known=facts is not None,
    )


def _memory_mib(name: str) -> int | None:
    neuron = neuron_instance(name.removeprefix(_PREFIX))
    return neuron.hbm_gib_per_device * _MIB_OF_GIB if neuron else gpu_memory_mib(family_of(name))


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointImageFacts:
    """One published image."""

    kind: str
    """As users name it, e.g. `vllm`."""
    accelerator: str
    """What it computes on: `cpu`, `gpu` or `neuron`."""
    version: str
    """Of vLLM, TGI or transformers."""
    repository: str
    tag: str
    regions: str
    """Which list of regions has it."""
    cuda: str | None = None
    """The CUDA that it was built for; `None` without GPUs."""
    neuron_sdk: str | None = None
    """The Neuron SDK in it; `None` without Neuron."""
    families: tuple[str, ...] = ()
    """The instance families that it runs on; empty for all of its accelerator."""
    warning: str | None = None
    """What was reported of it; `None` where nothing was."""


def image_kinds() -> tuple[str, ...]:
    """Return what there are images of, the usual one first."""
    return tuple(load("endpoint_images")["images"])


def image_title(kind: str) -> str:
    """Return what people call the images of `kind`, with an article."""
    return str(load("endpoint_images")["images"][kind]["title"])


def default_image_kind(accelerator: str) -> str:
    """Return what serves on `accelerator` (`cpu`, `gpu` or `neuron`) unless told otherwise."""
    return str(load("endpoint_images")["default"][accelerator])


@cache
def endpoint_images(kind: str, accelerator: str) -> Mapping[str, EndpointImageFacts]:
    """Return the images of `kind` for `accelerator` by version, newest first; empty where there are none."""
    listed: list[dict[str, Any]] = load("endpoint_images")["images"][kind].get(accelerator, [])
    where = f"endpoint_images.json/images/{kind}/{accelerator}"
    return {
        facts["version"]: typed(EndpointImageFacts, facts, f"{where}[{at}]", kind=kind, accelerator=accelerator)
        for at, facts in enumerate(listed)
    }


def retired_image(kind: str, version: str) -> str | None:
    """Return the version that came after one that is no longer supported; `None` for one that is not retired."""
    successor: str | None = load("endpoint_images")["retired"][kind].get(version)
    return successor


def retired_tarball(uri: str) -> str | None:
    """Return the version of transformers that the archive `uri` was made for, where no image has it any more."""
    tarballs: dict[str, str] = load("endpoint_images")["tarballs"]
    return next((version for start, version in tarballs.items() if uri.startswith(start)), None)


def image_regions_of(facts: EndpointImageFacts) -> tuple[str, ...]:
    """Return the regions whose registries have the image."""
    return tuple(load("endpoint_images")["regions"][facts.regions])


def image_account_of(region: str) -> str:
    """Return the account whose registry has AWS's images in `region`."""
    facts = load("endpoint_images")
    return str(facts["other_accounts"].get(region, facts["account"]))


_TABLE = "huggingface-llm"
"""The table of accounts with every region: a region's account is that of all its Deep Learning Containers."""


def deep_learning_accounts(region: str | None) -> tuple[str, ...]:
    """Return the accounts whose images jobs of `region` pull; of all regions where it is not known.

    The second one is that of the SageMaker model parallel library v2, the same in all regions that have it.
    """
    table: dict[str, str] = load("image_accounts")[_TABLE]
    own = table.values() if region is None else [table[region]] if region in table else []
    return tuple(sorted({*own, load("smp_images")["account"]}))


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceAmi:
    """One value of `InferenceAmiVersion`."""

    name: Annotated[str, KEY]
    accelerator: str
    """`gpu` or `neuron`."""
    driver: str
    """Version of NVIDIA's driver, or of Neuron's."""
    families: tuple[str, ...]
    """The instance families that it boots on."""
    cuda: str | None = None
    """The newest CUDA that the driver knows; `None` for Neuron."""


inference_amis = reader(Mapping[str, InferenceAmi], "inference_amis", "amis")
"""Every AMI that the API knows by name, the oldest driver of each accelerator first."""


def default_cuda(family: str) -> str | None:
    """Return the CUDA of the driver that `family` boots with when nobody names an AMI; `None` where nobody tells."""
    known: str | None = load("inference_amis")["default_cuda"].get(family)
    return known


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureFacts:
    """What is kept of requests and answers."""

    percent: Limit
    uri: Limit
    json_content_types: tuple[str, ...]
    """What is written as JSON and not as base64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointScalingFacts:
    """How the number of instances follows the load."""

    instances: Limit
    cooldown_seconds: Limit
    concurrent_requests: float
    """Requests at a time and instance that scaling goes for when nobody told."""
    out_seconds: int
    in_seconds: int
    dimension: str
    concurrent_metric: str
    invocations_metric: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutFacts:
    """How an update reaches an endpoint."""

    step_percent: Mapping[str, Limit]
    """By kind of rollout; none for what goes over all at once."""
    bake_seconds: Limit
    termination_wait_seconds: Limit
    timeout_seconds: Limit
    alarms: Limit
    default_step_percent: Mapping[str, int]
    default_bake_seconds: int
    default_termination_wait_seconds: int
    shortest_bake_seconds: int
    """What our own alarms need to ring."""
    families_without_guardrails: tuple[str, ...]
    """Families of instances that SageMaker updates all at once and without looking at alarms, whatever is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeToLiveFacts:
    """How long an endpoint may live."""

    seconds: Limit
    check_minutes: int
    """How often it is looked whether the time has come."""
    timeout_seconds: int
    """Of one such look."""
    statuses_that_wait: tuple[str, ...]
    """In which SageMaker refuses to delete an endpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetFacts:
    """What AWS Budgets takes."""

    service: str
    notifications: Limit
    emails: Limit
    tag: str
    """That an endpoint and its parts carry, for budgets that count it alone."""
    at_percent: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointAlarmFacts:
    """When somebody is called."""

    namespace: str
    instances_namespace: str
    server_error_percent: float
    model_latency_seconds: float
    idle_hours: int
    idle_hours_range: Limit


capture_facts = reader(CaptureFacts, "endpoint_operations", "data_capture")
endpoint_scaling_facts = reader(EndpointScalingFacts, "endpoint_operations", "scaling")
rollout_facts = reader(RolloutFacts, "endpoint_operations", "rollout")
time_to_live_facts = reader(TimeToLiveFacts, "endpoint_operations", "time_to_live")
budget_facts = reader(BudgetFacts, "endpoint_operations", "budget")
endpoint_alarm_facts = reader(EndpointAlarmFacts, "endpoint_operations", "alarms")
