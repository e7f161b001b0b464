"""Facts about the ECS-optimized Neuron AMI: its releases, the driver in each, and the root volume that it needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """What the AMI asks of a host, and what we chose for hosts."""

    root_device: str
    """What the AMI calls its root volume."""
    root_minimum_gib: int
    """The AMI's own size: no root volume can be smaller."""
    root_maximum_gib: int
    """The largest gp3."""
    managed_families: tuple[str, ...]
    """Instance families whose Neuron devices ECS Managed Instances hand to tasks."""
    managed_storage_minimum_gib: int
    user_data_bytes: int
    """EC2 takes no more user data, counted before it is encoded."""
    os_gib: int
    """What system, logs and agent take of the root volume, about."""
    images: int
    """How many images the default root volume has room for."""
    throughput_mib_s: int
    boot_minutes: int
    """How long CloudFormation waits for the signal of a host that replaces another."""
    first_host_minutes: int
    """How long it waits for the first host of all, which ECS's managed scaling has to start before it can boot."""
    warmup_seconds: int
    model_prefix_bytes: int
    """What user data has room for of the prefix of a model in S3, as JSON writes it."""


@cache
def host_facts() -> HostFacts:
    """Return the facts."""
    facts = load("ecs_neuron_ami")
    return HostFacts(
        root_device=facts["root_device"],
        root_minimum_gib=facts["root_minimum_gib"],
        root_maximum_gib=facts["root_maximum_gib"],
        managed_families=tuple(facts["managed_families"]),
        managed_storage_minimum_gib=facts["managed_storage_minimum_gib"],
        user_data_bytes=facts["user_data_bytes"],
        **facts["ours"],
    )


def ami_releases() -> Mapping[str, str | None]:
    """Return the driver that each known release is believed to carry, oldest first; `None` where nobody can tell."""
    return {release: facts["driver"] for release, facts in load("ecs_neuron_ami")["releases"].items()}


def ami_for(driver_version: str) -> str:
    """Return the newest release that is believed to carry `driver_version`; the newest of all where none is."""
    releases = ami_releases()
    carrying = [release for release, driver in releases.items() if driver == driver_version]
    return max(carrying or releases)


def ami_parameter(release: str) -> str:
    """Return the name of the public SSM parameter that holds the AMI's id in each region."""
    name: str = load("ecs_neuron_ami")["parameter"]
    return name.format(release=release)


def least_root_gib(image_gib: int, *, cache_gib: int = 0) -> int:
    """Return the GiB below which a root volume does not hold one image of `image_gib` and the model's cache."""
    facts = host_facts()
    return max(facts.root_minimum_gib, facts.os_gib + image_gib + cache_gib)


def default_root_gib(image_gib: int, *, cache_gib: int = 0) -> int:
    """Return the GiB of a root volume with room for an update beside the running image, and the model's cache."""
    facts = host_facts()
    return max(facts.root_minimum_gib, facts.os_gib + facts.images * image_gib + cache_gib)
