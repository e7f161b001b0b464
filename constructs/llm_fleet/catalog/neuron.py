"""AWS Neuron: its devices, the releases of its software, and ECS's AMI for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from llm_fleet.catalog.data_file import KEY, load, reader
from llm_fleet.catalog.ec2_instances import ec2_facts_of, ec2_instance_names


@dataclass(frozen=True, slots=True, kw_only=True)
class NeuronInstance:
    """An instance type with Neuron devices."""

    name: str
    """EC2's name, e.g. `inf2.xlarge`."""
    family: str
    devices: int
    """How many `/dev/neuron<n>` it has."""
    cores_per_device: int
    hbm_gib_per_device: int
    host_memory_gib: float
    vcpus: int
    target: str
    """What the compiler compiles for; models of one target run on all its families."""
    tensor_parallel: tuple[int, ...]
    """Over how many cores a model can be spread, ascending; empty where nobody told."""

    @property
    def cores(self) -> int:
        """NeuronCores of all devices, as the runtime counts them."""
        return self.devices * self.cores_per_device

    @property
    def hbm_gib(self) -> int:
        """Memory of all devices together, in GiB."""
        return self.devices * self.hbm_gib_per_device

    @property
    def device_paths(self) -> tuple[str, ...]:
        """`/dev/neuron0` and so on."""
        return tuple(f"/dev/neuron{number}" for number in range(self.devices))


def neuron_instance(instance_type: str) -> NeuronInstance | None:
    """Return the facts of `instance_type`; `None` where EC2 has no such type, or one without known Neuron devices."""
    facts = ec2_facts_of(instance_type)
    family = load("neuron_devices")["families"].get(facts.family) if facts else None
    if facts is None or family is None:
        return None
    return NeuronInstance(
        name=facts.name,
        family=facts.family,
        devices=facts.accelerators,
        cores_per_device=family["cores"],
        hbm_gib_per_device=family["hbm_gib"],
        host_memory_gib=facts.memory_gib,
        vcpus=facts.vcpus,
        target=family["target"],
        tensor_parallel=tuple(load("neuron_devices")["tensor_parallel"].get(facts.name, ())),
    )


def neuron_instance_names() -> list[str]:
    """Return all instance types with Neuron devices, by family and size of their memory."""
    families: list[str] = list(load("neuron_devices")["families"])
    return [each.name for family in families for each in sizes_of(family)]


def sizes_of(family: str) -> list[NeuronInstance]:
    """Return the instance types of `family`, the smallest first."""
    known = [neuron_instance(name) for name in ec2_instance_names() if name.startswith(f"{family}.")]
    found = [each for each in known if each is not None]
    return sorted(found, key=lambda each: (each.hbm_gib, each.host_memory_gib))


DRIVER = "aws-neuronx-dkms"
RUNTIME = "aws-neuronx-runtime-lib"


@dataclass(frozen=True, slots=True, kw_only=True)
class NeuronPackage:
    """A package of the host and its version, without what the repository puts after it (`2.30.51.0-6a1f2c3d4`)."""

    name: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NeuronEdge:
    """`package` from `from_version` on works only with `other` at `at_least`."""

    package: str
    from_version: str
    other: str
    at_least: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NeuronRelease:
    """One release of the SDK."""

    name: Annotated[str, KEY]
    """E.g. `2.28.1`."""
    date: str | None
    """ISO date; `None` where no source tells it."""
    families: tuple[str, ...]
    """Instance families that its driver, runtime and PyTorch are made for, e.g. `trn1`."""
    host: Mapping[str, str]
    """Versions of the host's packages, by name: driver, runtime, collectives, tools."""
    python: Mapping[str, tuple[str, ...]]
    """Versions of the wheels, by name; several where the release has one for each PyTorch."""


neuron_releases = reader(Mapping[str, NeuronRelease], "neuron_releases", "releases")
"""Every release in the catalog by name, the newest first."""
compatibility = reader(tuple[NeuronEdge, ...], "neuron_releases", "compatibility")
"""What driver and runtime ask of each other."""


def neuron_release(name: str) -> NeuronRelease:
    """Return the release called `name`, e.g. `2.28.1`. Raises `KeyError` when the catalog has none."""
    return neuron_releases()[name]


def default_neuron_release(family: str) -> NeuronRelease | None:
    """Return what an expert takes for the instance family `family`; `None` for one without Neuron devices."""
    chosen = load("neuron_releases")["defaults"].get(family)
    return neuron_release(chosen["release"]) if chosen else None


def default_reason(family: str) -> str:
    """Return why `default_neuron_release` chose as it did. Raises `KeyError` where it chose nothing."""
    reason: str = load("neuron_releases")["defaults"][family]["reason"]
    return reason


def host_packages(release: NeuronRelease) -> tuple[NeuronPackage, ...]:
    """Return the host's packages of `release`, the driver first."""
    return tuple(NeuronPackage(name=name, version=version) for name, version in release.host.items())


def alternative_releases(release: NeuronRelease) -> tuple[NeuronRelease, ...]:
    """Return releases whose runtime goes with drivers that are too new for the runtime of `release`, by preference.

    An image owns its driver, and it may be newer than the release that its user wants. A runtime newer than the
    Python stack is the usual direction of compatibility, an older one is not: so there is none for an old driver.
    Of the releases that will do, the oldest minor one changes least, and of that one the last has its repairs.
    """
    found: dict[str, NeuronRelease] = {}
    for edge in compatibility():
        if edge.package == DRIVER and parts(release.host[RUNTIME]) < parts(edge.at_least):
            fit = [each for each in neuron_releases().values() if parts(each.host[RUNTIME]) >= parts(edge.at_least)]
            oldest = min(_minor(each) for each in fit)
            chosen = max((each for each in fit if _minor(each) == oldest), key=lambda each: parts(each.name))
            found[chosen.name] = chosen
    return tuple(found.values())


def alternative_packages(release: NeuronRelease) -> tuple[NeuronPackage, ...]:
    """Return what is installed of an alternative `release`: all but the driver, which is the image's."""
    return tuple(package for package in host_packages(release) if package.name != DRIVER)


def parts(version: str) -> tuple[int, ...]:
    """Return `2.30.51.0` as numbers that can be compared."""
    return tuple(int(part) for part in version.split("."))


def _minor(release: NeuronRelease) -> tuple[int, ...]:
    return parts(release.name)[:2]


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


host_facts = reader(HostFacts, "ecs_neuron_ami", "host")


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
