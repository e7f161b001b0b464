"""Training jobs of SageMaker: limits of CreateTrainingJob, instance types, images, SMP, the machine and the watch."""

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
    """How a container starts the processes of a training script."""

    name: Annotated[str, KEY]
    """As the fleet file writes it, e.g. `torchrun`."""
    title: str
    hyperparameters: Mapping[str, Any]
    """By which the container's toolkit knows it."""
    neuron: bool
    """Whether it starts processes on Trainium."""
    python_script: bool
    """Whether the entry point must be a Python script that is no package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Something that has been taken out of service, or that another thing has replaced."""

    what: str
    successor: str
    """What to do instead, as a remedy."""


_limits = reader(Mapping[str, Limit], "training_job_limits", "limits")


def training_job_limit(field: str) -> Limit:
    """Return the limits of `field`, by its path in the request, e.g. `TrainingJobName`.

    `[]` stands for a member of a list, `{}` for a value of a map and `{key}` for its key. A field that has no limit, or
    is misspelt, is a `KeyError`.
    """
    return _limits()[field]


def training_job_fact(name: str) -> Any:
    """Return a single number or text of the catalog, by its name, e.g. `checkpoint_path`."""
    return load("training_job")[name]


@cache
def name_limit() -> Limit:
    """Return how long a job's name may be, so that what is added to it at each start has room."""
    whole = training_job_limit("TrainingJobName")
    assert whole.maximum is not None
    return Limit(minimum=whole.minimum, maximum=whole.maximum - training_job_fact("job_suffix"), pattern=whole.pattern)


launchers = reader(Mapping[str, Launcher], "training_job", "launchers")
ended_hyperparameters = reader(Mapping[str, Ended], "training_job", "ended_hyperparameters")
"""What hyperparameters switched on that has ended, by their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmpImage:
    """One published image."""

    pytorch: Annotated[str, KEY]
    """Version of PyTorch in it, e.g. `2.5.1`; images are known by it."""
    tag: str
    library: str
    """Version of SMP in it."""
    smddp: str
    """Version of the SageMaker distributed data parallel library in it."""
    transformers: str | None
    """Version of Hugging Face Transformers in it; `None` where the guide names none."""
    enroot: bool
    """Whether AWS offers it as an Enroot file too, which saves the import."""

    def uri(self, region: str) -> str:
        """Return the image's address in the registry of `region`."""
        facts = load("smp_images")
        repository: str = facts["repository"].format(account=facts["account"], region=region)
        return f"{repository}:{self.tag}"

    def enroot_url(self, region: str) -> str | None:
        """Return where AWS offers the image as an Enroot file in `region`; `None` where it does not."""
        address: str = load("smp_images")["enroot"]
        return address.format(region=region, tag=self.tag) if self.enroot else None


smp_images = reader(Mapping[str, SmpImage], "smp_images", "versions")
"""Every image by its version of PyTorch, newest first."""
smp_regions = reader(tuple[str, ...], "smp_images", "regions")
"""The regions whose registries have the images."""
documented_families = reader(tuple[str, ...], "smp_images", "families", "documented")
"""The instance families that AWS's documents name for SMP v2, e.g. `p4d`."""
derived_families = reader(tuple[str, ...], "smp_images", "families", "derived")
"""The families whose GPUs the images have kernels for. assumption: smp-v2-on-derived-families"""
smddp_instances = reader(tuple[str, ...], "smp_images", "smddp_instances")
"""The instance types, without `ml.`, on which the library SMDDP runs its collectives."""


def smp_versions() -> tuple[str, ...]:
    """Return the versions of PyTorch that there are images with, newest first."""
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
    """Its local disks, which take the place of a volume; 0 without any, `None` where no source tells how large."""
    efa_interfaces: int
    successor: str | None
    """What to take instead of a type that is in the API's list only; `None` for one that is offered."""

    @property
    def family(self) -> str:
        """The family without prefix and size, e.g. `trn1`."""
        return self.name.split(".")[1]

    @property
    def processor(self) -> str:
        """What an image for it is made for: `gpu`, `neuron` or `cpu`."""
        return self.accelerator or "cpu"

    @property
    def smddp(self) -> bool:
        """Whether the SageMaker distributed data parallel library runs on it."""
        return self.name.removeprefix("ml.") in smddp_instances()

    @property
    def has_local_disks(self) -> bool:
        """Whether data lies on its local disks, which have keys of their own, and not on a volume."""
        return self.nvme_gb != 0


@cache
def training_instances() -> Mapping[str, TrainingInstance]:
    """Return every instance type that CreateTrainingJob takes, by its `ml.` name."""
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
    """One published image, in a form for each kind of processor."""

    repository: str
    pytorch: str
    """Version of PyTorch in it."""
    tags: Mapping[str, str]
    """By processor: `gpu`, `cpu` or `neuron`."""
    until: str | None = None
    """The ISO date until which AWS patches it; `None` where the lists name none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingImageFamily:
    """One line of AWS's Deep Learning Containers for training."""

    name: Annotated[str, KEY]
    """As the fleet file writes it, e.g. `pytorch`."""
    title: str
    maker: str
    """How Python writes it, e.g. `TrainingImage.pytorch`."""
    default: str
    """The version that is taken when none is told."""
    accounts: str
    """The table of accounts by region that its registry is in."""
    only_regions: tuple[str, ...] | None
    """Where it is offered; `None`: wherever the table has an account."""
    instances: tuple[str, ...] | None
    """Instance families that it runs on; `None`: all with a processor that it has a tag for."""
    versions: Mapping[str, TrainingImageVersion]
    """Newest first."""
    retired: tuple[str, ...]
    """Versions that were, and are not offered any more."""

    @property
    def regions(self) -> tuple[str, ...]:
        """Where it is offered."""
        return image_regions(self.accounts) if self.only_regions is None else self.only_regions

    def uri(self, version: str, processor: str, region: str) -> str:
        """Return the address of `version` for `processor` in `region`; a `KeyError` where there is none."""
        found = self.versions[version]
        suffix = "amazonaws.com.cn" if regions()[region].partition == "aws-cn" else "amazonaws.com"
        account = image_account(self.accounts, region)
        return f"{account}.dkr.ecr.{region}.{suffix}/{found.repository}:{found.tags[processor]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedImage:
    """Images that AWS patches no more, by what their addresses have in common."""

    pattern: re.Pattern[str]
    what: str
    successor: str
    """What to do instead, as a remedy."""


training_image_families = reader(Mapping[str, TrainingImageFamily], "training_job_images", "families")
"""The lines of images by name."""
ended_images = reader(tuple[EndedImage, ...], "training_job_images", "ended")
"""What ended images are known by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmpKey:
    """One key of `smp_config.json`."""

    name: Annotated[str, KEY]
    type: Literal["integer", "boolean"]
    default: int | bool | None
    """What the library takes where the key is left out; `None` where the guide names none."""
    minimum: int | None = None
    up_to_world_size: bool = False
    """Whether its largest value is the number of processes."""
    needs_transform: bool = False
    """Whether above 1 it only acts on a model that the script has passed through `torch.sagemaker.transform`."""

    def limit(self, world_size: int | None) -> Limit:
        """Return the bounds of the key in a job of `world_size` processes; `None` where that is not known."""
        return Limit(minimum=self.minimum, maximum=world_size if self.up_to_world_size else None)


smp_keys = reader(Mapping[str, SmpKey], "smp_v2", "keys")
"""Every key of the library's configuration by name, in its reference's order."""
smp_aliases = reader(Mapping[str, str], "smp_v2", "aliases")
"""Today's names of keys by those of the library's announcement."""


def job_machine_fact(name: str) -> Any:
    """Return a single fact by its name, e.g. `history_events`."""
    return load("job_machine")[name]


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


training_watch_facts = reader(TrainingWatchFacts, "training_watch")
