"""SageMaker endpoints: settings, limits, instance types, images and AMIs, and limits of related features.

Related features are data capture, auto scaling, rollouts, lifetime, budgets and alarms.
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
    """Limits and defaults of endpoint settings."""

    name: Limit
    """Limits of the endpoint's name."""
    variant: str
    """The name of the endpoint's only variant."""
    instance_count: Limit
    volume_gib: Limit
    """GiB of the EBS volume of an instance."""
    timeout_seconds: Limit
    """Limits of both timeouts at the start: the download of the model data, and the container startup health check."""
    environment: Limit
    """Limits of the number of environment variables of a container."""
    environment_key: Limit
    environment_value: Limit
    environment_bytes: int
    """Maximum bytes of all environment variables together."""
    reserved_environment: tuple[str, ...]
    """Prefixes of variable names that SageMaker sets."""
    secret_environment: tuple[str, ...]
    """Names of variables whose values are secrets."""
    model_address: Limit
    """Pattern of an S3 URI."""
    usable_share: float
    """Share of an accelerator's memory that a server uses."""
    image_gib: int
    """GiB of the image on the volume."""
    bytes_per_parameter: int
    """Bytes that a server uses for one parameter."""
    default_volume_gib: int
    """GiB of the volume for a model of unknown size."""


endpoint_settings = reader(EndpointSettings, "endpoint_settings")


_PREFIX = "ml."
_MIB_OF_GIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointInstance:
    """One instance type, under its `ml.` name. `None`: no source has the fact."""

    name: str
    architecture: Architecture | None
    accelerator: Literal["gpu", "neuron"] | None
    """`None` for CPU instances, and where no source has it."""
    accelerators: int
    """GPUs or Neuron devices."""
    accelerator_mib: int | None
    """Memory of one accelerator in MiB."""
    memory_gib: float | None
    """Memory of the host in GiB."""
    local_disk_gb: int
    """GB of all local disks together; 0 for a type whose storage is an EBS volume."""
    known: bool
    """Whether EC2 has this type."""

    @property
    def family(self) -> str:
        """The part between `ml.` and the size, e.g. `g4dn`."""
        return family_of(self.name)

    @property
    def ec2_name(self) -> str:
        """The name without `ml.`, as in EC2."""
        return self.name.removeprefix(_PREFIX)


def family_of(instance_type: str) -> str:
    """Return the family of an instance type, with or without the prefix `ml.`."""
    return instance_type.removeprefix(_PREFIX).partition(".")[0]


_families = reader(Mapping[str, tuple[str, ...]], "endpoint_instances", "families")
retired_endpoint_families = reader(Mapping[str, str], "endpoint_instances", "retired")
"""Retired families, each with its successor."""


@cache
def endpoint_instance_names() -> tuple[str, ...]:
    """Return all instance types of SageMaker's endpoint API that are not retired."""
    retired = retired_endpoint_families()
    return tuple(
        f"{_PREFIX}{family}.{size}" for family, sizes in _families().items() if family not in retired for size in sizes
    )


@cache
def endpoint_instance(name: str) -> EndpointInstance | None:
    """Return the facts of the type `name`, e.g. `ml.g4dn.xlarge`; `None` for a type that endpoints do not support."""
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
    """The user's name of it, e.g. `vllm`."""
    accelerator: str
    """`cpu`, `gpu` or `neuron`."""
    version: str
    """Version of vLLM, TGI or transformers."""
    repository: str
    tag: str
    regions: str
    """Key of the list of its regions."""
    cuda: str | None = None
    """CUDA version that it was built for; `None` without GPUs."""
    neuron_sdk: str | None = None
    """Version of the Neuron SDK in it; `None` without Neuron."""
    families: tuple[str, ...] = ()
    """Instance families that it supports; empty: all families with its accelerator."""
    warning: str | None = None
    """A known problem; `None` without one."""


def image_kinds() -> tuple[str, ...]:
    """Return the kinds of images, the default first."""
    return tuple(load("endpoint_images")["images"])


def image_title(kind: str) -> str:
    """Return the title of the images of `kind`, with an article."""
    return str(load("endpoint_images")["images"][kind]["title"])


def default_image_kind(accelerator: str) -> str:
    """Return the default kind of image for `accelerator` (`cpu`, `gpu` or `neuron`)."""
    return str(load("endpoint_images")["default"][accelerator])


@cache
def endpoint_images(kind: str, accelerator: str) -> Mapping[str, EndpointImageFacts]:
    """Return the images of `kind` for `accelerator` by version, newest first; may be empty."""
    listed: list[dict[str, Any]] = load("endpoint_images")["images"][kind].get(accelerator, [])
    where = f"endpoint_images.json/images/{kind}/{accelerator}"
    return {
        facts["version"]: typed(EndpointImageFacts, facts, f"{where}[{at}]", kind=kind, accelerator=accelerator)
        for at, facts in enumerate(listed)
    }


def retired_image(kind: str, version: str) -> str | None:
    """Return the successor of an unsupported version; `None` for a version that is not retired."""
    successor: str | None = load("endpoint_images")["retired"][kind].get(version)
    return successor


def retired_tarball(uri: str) -> str | None:
    """Return the transformers version of the archive `uri` if no image supports it any more, otherwise `None`."""
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
"""The account table with every region; one account has all Deep Learning Containers of a region."""


def deep_learning_accounts(region: str | None) -> tuple[str, ...]:
    """Return the accounts whose images jobs in `region` pull; those of all regions when `region` is `None`.

    The second account has the images of the SageMaker model parallel library v2, in all its regions.
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
    """Version of the NVIDIA or Neuron driver."""
    families: tuple[str, ...]
    """Instance families that it supports."""
    cuda: str | None = None
    """Newest CUDA version that the driver supports; `None` for Neuron."""


inference_amis = reader(Mapping[str, InferenceAmi], "inference_amis", "amis")
"""All values of the API by name, the oldest driver of each accelerator first."""


def default_cuda(family: str) -> str | None:
    """Return the CUDA version of the default AMI of `family`; `None` where no source has it."""
    known: str | None = load("inference_amis")["default_cuda"].get(family)
    return known


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureFacts:
    """Limits of data capture."""

    percent: Limit
    uri: Limit
    json_content_types: tuple[str, ...]
    """Content types that SageMaker captures as JSON instead of base64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointScalingFacts:
    """Limits and defaults of auto scaling."""

    instances: Limit
    cooldown_seconds: Limit
    concurrent_requests: float
    """Default scaling target: concurrent requests for each instance."""
    out_seconds: int
    in_seconds: int
    dimension: str
    concurrent_metric: str
    invocations_metric: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutFacts:
    """Limits and defaults of deployments (rolling, canary, linear, all-at-once)."""

    step_percent: Mapping[str, Limit]
    """Limits by kind of rollout; none for all-at-once."""
    bake_seconds: Limit
    termination_wait_seconds: Limit
    timeout_seconds: Limit
    alarms: Limit
    default_step_percent: Mapping[str, int]
    default_bake_seconds: int
    default_termination_wait_seconds: int
    shortest_bake_seconds: int
    """Shortest bake time in which llm-fleet's own alarms can change to ALARM."""
    families_without_guardrails: tuple[str, ...]
    """Instance families that SageMaker always updates all-at-once, without checking alarms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeToLiveFacts:
    """Limits of an endpoint's lifetime."""

    seconds: Limit
    check_minutes: int
    """Minutes between two checks of the lifetime."""
    timeout_seconds: int
    """Timeout of one check."""
    statuses_that_wait: tuple[str, ...]
    """Endpoint statuses in which SageMaker rejects DeleteEndpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetFacts:
    """Limits of AWS Budgets."""

    service: str
    notifications: Limit
    emails: Limit
    tag: str
    """Tag key of an endpoint and its resources, for budgets of one endpoint."""
    at_percent: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointAlarmFacts:
    """Default thresholds of endpoint alarms."""

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
