"""SageMaker training jobs: limits of CreateTrainingJob, instance types, images, SMP, state machine and watch."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Literal

from llm_fleet.catalog.data_file import KEY, Limit, load, reader
from llm_fleet.catalog.ec2_instances import Architecture, ec2_instance
from llm_fleet.catalog.model_server import image_account, image_regions
from llm_fleet.catalog.network import regions


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """A launcher that starts the processes of a training script in a container."""

    name: Annotated[str, KEY]
    """Its name in the fleet file, e.g. `torchrun`."""
    title: str
    hyperparameters: Mapping[str, Any]
    """Hyperparameters that select it in the SageMaker training toolkit."""
    neuron: bool
    """Whether it supports Trainium."""
    python_script: bool
    """Whether the entry point must be a Python script, not a package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A feature or image that AWS has ended or replaced."""

    what: str
    successor: str
    """The remedy."""


_limits = reader(Mapping[str, Limit], "training_job_limits", "limits")


def training_job_limit(field: str) -> Limit:
    """Return the limits of `field`, by its path in the request, e.g. `TrainingJobName`.

    `[]` means a list item, `{}` a value of a map and `{key}` its key. Raises `KeyError` for a field without limits and
    for an unknown field.
    """
    return _limits()[field]


def training_job_fact(name: str) -> Any:
    """Return a number or string of the catalog by its key, e.g. `checkpoint_path`."""
    return load("training_job")[name]


@cache
def name_limit() -> Limit:
    """Return the limits of a job's name, shorter than SageMaker's because a suffix is added at each start."""
    whole = training_job_limit("TrainingJobName")
    assert whole.maximum is not None
    return Limit(minimum=whole.minimum, maximum=whole.maximum - training_job_fact("job_suffix"), pattern=whole.pattern)


launchers = reader(Mapping[str, Launcher], "training_job", "launchers")
ended_hyperparameters = reader(Mapping[str, Ended], "training_job", "ended_hyperparameters")
"""Ended features by the hyperparameters that enabled them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmpImage:
    """One published image of the SageMaker model parallel library (SMP)."""

    pytorch: Annotated[str, KEY]
    """Version of PyTorch in it, e.g. `2.5.1`; identifies the image."""
    tag: str
    library: str
    """Version of SMP in it."""
    smddp: str
    """Version of the SageMaker distributed data parallel library in it."""
    transformers: str | None
    """Version of Hugging Face Transformers in it; `None` where the guide does not list one."""
    enroot: bool
    """Whether AWS also offers it as an Enroot file, which makes an import unnecessary."""

    def uri(self, region: str) -> str:
        """Return the image's address in the registry of `region`."""
        facts = load("smp_images")
        repository: str = facts["repository"].format(account=facts["account"], region=region)
        return f"{repository}:{self.tag}"

    def enroot_url(self, region: str) -> str | None:
        """Return the URL of the image as an Enroot file in `region`; `None` where AWS does not offer one."""
        address: str = load("smp_images")["enroot"]
        return address.format(region=region, tag=self.tag) if self.enroot else None


smp_images = reader(Mapping[str, SmpImage], "smp_images", "versions")
"""Images by version of PyTorch, newest first."""
smp_regions = reader(tuple[str, ...], "smp_images", "regions")
"""Regions whose registries have the images."""
documented_families = reader(tuple[str, ...], "smp_images", "families", "documented")
"""Instance families that AWS documents for SMP v2, e.g. `p4d`."""
derived_families = reader(tuple[str, ...], "smp_images", "families", "derived")
"""Other families whose GPUs the images have kernels for. assumption: smp-v2-on-derived-families"""
smddp_instances = reader(tuple[str, ...], "smp_images", "smddp_instances")
"""Instance types, without `ml.`, that support the collectives of the SMDDP library."""


def smp_versions() -> tuple[str, ...]:
    """Return the PyTorch versions of all images, newest first."""
    return tuple(smp_images())


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingInstance:
    """One instance type, under its `ml.` name."""

    name: str
    architecture: Architecture
    accelerator: Literal["gpu", "neuron"] | None
    accelerators: int
    """GPUs or Neuron devices."""
    nvme_gb: int | None
    """Size of its local disks, which replace the EBS volume; 0 without any, `None` where no source has the size."""
    efa_interfaces: int
    successor: str | None
    """Replacement for a type that only the API's list has; `None` for a type that is available."""

    @property
    def family(self) -> str:
        """The part between `ml.` and the size, e.g. `trn1`."""
        return self.name.split(".")[1]

    @property
    def processor(self) -> str:
        """Kind of processor that its images need: `gpu`, `neuron` or `cpu`."""
        return self.accelerator or "cpu"

    @property
    def smddp(self) -> bool:
        """Whether the SageMaker distributed data parallel library supports it."""
        return self.name.removeprefix("ml.") in smddp_instances()

    @property
    def has_local_disks(self) -> bool:
        """Whether data is on its local disks, which have their own encryption keys, instead of an EBS volume."""
        return self.nvme_gb != 0


@cache
def training_instances() -> Mapping[str, TrainingInstance]:
    """Return all instance types of CreateTrainingJob by their `ml.` names."""
    families: dict[str, list[str]] = load("training_job_limits")["instances"]
    names = [f"ml.{family}.{size}" for family, sizes in families.items() for size in sizes]
    return MappingProxyType({name: _instance(name) for name in names})


def _instance(name: str) -> TrainingInstance:
    facts = load("training_job")
    own: dict[str, Any] = facts["instances"].get(name, {})
    known = ec2_instance(name.removeprefix("ml."))
    return TrainingInstance(
        name=name,
        architecture=own.get("architecture") or (known.architecture if known else "x86_64"),
        accelerator=own.get("accelerator") or (known.accelerator if known else None),
        accelerators=own.get("accelerators") or (known.accelerators if known else 0),
        nvme_gb=known.instance_store_gb if known else own.get("nvme_gb"),
        efa_interfaces=known.efa_interfaces if known else 0,
        successor=facts["retired_instances"].get(name.split(".")[1]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingImageVersion:
    """One published image version, with a tag for each kind of processor."""

    repository: str
    pytorch: str
    """Version of PyTorch in it."""
    tags: Mapping[str, str]
    """Image tags by processor: `gpu`, `cpu` or `neuron`."""
    until: str | None = None
    """ISO date until which AWS patches it; `None` where the lists have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingImageFamily:
    """One family of AWS Deep Learning Containers for training."""

    name: Annotated[str, KEY]
    """Its name in the fleet file, e.g. `pytorch`."""
    title: str
    maker: str
    """Its name in Python, e.g. `TrainingImage.pytorch`."""
    default: str
    """The default version."""
    accounts: str
    """Key of the table of registry accounts by region."""
    only_regions: tuple[str, ...] | None
    """Supported regions; `None`: all regions with an account in the table."""
    instances: tuple[str, ...] | None
    """Supported instance families; `None`: all whose processor has a tag."""
    versions: Mapping[str, TrainingImageVersion]
    """Image versions, newest first."""
    retired: tuple[str, ...]
    """Versions that AWS no longer offers."""

    @property
    def regions(self) -> tuple[str, ...]:
        """The regions that offer it."""
        return image_regions(self.accounts) if self.only_regions is None else self.only_regions

    def uri(self, version: str, processor: str, region: str) -> str:
        """Return the image URI of `version` for `processor` in `region`. Raises `KeyError` where there is none."""
        found = self.versions[version]
        suffix = "amazonaws.com.cn" if regions()[region].partition == "aws-cn" else "amazonaws.com"
        account = image_account(self.accounts, region)
        return f"{account}.dkr.ecr.{region}.{suffix}/{found.repository}:{found.tags[processor]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedImage:
    """Images that AWS no longer patches, identified by a part of their URIs."""

    pattern: re.Pattern[str]
    what: str
    successor: str
    """The remedy."""


training_image_families = reader(Mapping[str, TrainingImageFamily], "training_job_images", "families")
"""Image families by name."""
ended_images = reader(tuple[EndedImage, ...], "training_job_images", "ended")
"""How ended images are recognized."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmpKey:
    """One key of `smp_config.json`."""

    name: Annotated[str, KEY]
    type: Literal["integer", "boolean"]
    default: int | bool | None
    """The library's default; `None` where the guide has none."""
    minimum: int | None = None
    up_to_world_size: bool = False
    """Whether its maximum is the number of processes."""
    needs_transform: bool = False
    """Whether values above 1 affect only a model that the script passes through `torch.sagemaker.transform`."""

    def limit(self, world_size: int | None) -> Limit:
        """Return the bounds of the key in a job of `world_size` processes; `None`: unknown."""
        return Limit(minimum=self.minimum, maximum=world_size if self.up_to_world_size else None)


smp_keys = reader(Mapping[str, SmpKey], "smp_v2", "keys")
"""All keys of the library's configuration by name, in the order of its reference."""
smp_aliases = reader(Mapping[str, str], "smp_v2", "aliases")
"""Current names of keys by their names in the library's announcement."""


def job_machine_fact(name: str) -> Any:
    """Return a fact about the state machine by its key, e.g. `history_events`."""
    return load("job_machine")[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchLimits:
    """Limits of a watch's settings."""

    role_policies: int
    """Maximum managed policies of a role."""
    environment_bytes: int
    """Maximum bytes of all environment variables of a Lambda function."""
    pattern_characters: int
    """Maximum length of an event pattern."""
    alarm_window_minutes: int
    """Maximum evaluation window of an alarm."""
    restarts: int
    """Maximum restarts of one job; our own limit."""
    back_off_seconds: int
    """Our own limit: a delay of more than a day needs a schedule instead."""
    prefix_characters: int
    """Our own minimum: a shorter prefix of job names matches unrelated jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartFacts:
    """Defaults for restarts of a failed job."""

    maximum: int
    back_off_seconds: int
    longest_back_off_seconds: int
    at_max_runtime: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSpikeFacts:
    """Defaults of the loss spike alarm."""

    factor: float
    minutes: int
    window_minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StallFacts:
    """Defaults of the stall alarm."""

    minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputDropFacts:
    """Defaults of the throughput drop alarm."""

    below_fraction: float
    minutes: int
    window_minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchQueueFacts:
    """Settings of the queue and its Lambda function."""

    timeout_seconds: int
    visibility_per_timeout: int
    """Visibility timeout of a message as a multiple of the function's timeout."""
    receives: int
    """Receives of a message before it goes to the dead-letter queue."""
    retention_days: int
    concurrency: int
    """Maximum concurrency of the function for the queue."""
    memory_mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingWatchFacts:
    """All facts about a training watch."""

    limits: WatchLimits
    restart: RestartFacts
    loss_spike: LossSpikeFacts
    stall: StallFacts
    throughput_drop: ThroughputDropFacts
    queue: WatchQueueFacts
    layouts: tuple[str, ...]
    """Names of the checkpoint layouts that the function supports."""
    tag: str
    """Tag key of a job; the value is the name of its watch."""
    alarm_prefix: str
    """Prefix of alarm names of all watches, before the watch's name and a slash."""
    grace_minutes: int
    """Minutes after the start of a job in which conditions are ignored."""
    onset_margin_seconds: int
    """Minimum seconds between a checkpoint and the onset of a problem for a restart from it."""
    metric_period_seconds: int
    """Period of its alarms' metrics in seconds."""
    sweep_minutes: int
    """Minutes between two polls for changes that no event reported."""
    decision_seconds: int
    """Maximum seconds for a decision, without the delay before a restart: two full redeliveries of a message."""
    old_message_minutes: int
    """Age of a message in minutes at which an alarm changes to ALARM."""


training_watch_facts = reader(TrainingWatchFacts, "training_watch")
