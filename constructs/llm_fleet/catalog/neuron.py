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
    """Number of `/dev/neuron<n>` devices."""
    cores_per_device: int
    hbm_gib_per_device: int
    host_memory_gib: float
    vcpus: int
    target: str
    """The compiler's target; a compiled model runs on all families of its target."""
    tensor_parallel: tuple[int, ...]
    """Supported tensor parallel degrees, ascending; empty where unknown."""

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
    """Return the facts of `instance_type`; `None` for an unknown type, or one without known Neuron devices."""
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
    """Return all instance types with Neuron devices, ordered by family and memory."""
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
    """A host package and its version, without the suffix of the repository (`2.30.51.0-6a1f2c3d4`)."""

    name: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NeuronEdge:
    """`package` from `from_version` on requires `other` in version `at_least` or later."""

    package: str
    from_version: str
    other: str
    at_least: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NeuronRelease:
    """One release of the Neuron SDK."""

    name: Annotated[str, KEY]
    """E.g. `2.28.1`."""
    date: str | None
    """ISO date; `None` where no source has it."""
    families: tuple[str, ...]
    """Instance families that its driver, runtime and PyTorch support, e.g. `trn1`."""
    host: Mapping[str, str]
    """Versions of the host's packages, by name: driver, runtime, collectives, tools."""
    python: Mapping[str, tuple[str, ...]]
    """Versions of the wheels, by name; several where the release has one for each PyTorch."""


neuron_releases = reader(Mapping[str, NeuronRelease], "neuron_releases", "releases")
"""Every release in the catalog by name, the newest first."""
compatibility = reader(tuple[NeuronEdge, ...], "neuron_releases", "compatibility")
"""Version requirements between driver and runtime."""


def neuron_release(name: str) -> NeuronRelease:
    """Return the release called `name`, e.g. `2.28.1`. Raises `KeyError` when the catalog has none."""
    return neuron_releases()[name]


def default_neuron_release(family: str) -> NeuronRelease | None:
    """Return the recommended release for the instance family `family`; `None` for one without Neuron devices."""
    chosen = load("neuron_releases")["defaults"].get(family)
    return neuron_release(chosen["release"]) if chosen else None


def default_reason(family: str) -> str:
    """Return the reason for the choice of `default_neuron_release`. Raises `KeyError` without a choice."""
    reason: str = load("neuron_releases")["defaults"][family]["reason"]
    return reason


def host_packages(release: NeuronRelease) -> tuple[NeuronPackage, ...]:
    """Return the host's packages of `release`, the driver first."""
    return tuple(NeuronPackage(name=name, version=version) for name, version in release.host.items())


def alternative_releases(release: NeuronRelease) -> tuple[NeuronRelease, ...]:
    """Return releases whose runtime supports drivers that are too new for the runtime of `release`, best first.

    The AMI has the driver, which may be newer than the requested release. A newer runtime usually works with
    an older Python stack, but not the reverse, so an old driver has no alternative. The oldest suitable minor release
    changes least; of that one, the last patch release has the most fixes.
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
    """Return the packages of an alternative `release` to install: all except the driver, which the AMI has."""
    return tuple(package for package in host_packages(release) if package.name != DRIVER)


def parts(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, e.g. `2.30.51.0`, as a comparable tuple."""
    return tuple(int(part) for part in version.split("."))


def _minor(release: NeuronRelease) -> tuple[int, ...]:
    return parts(release.name)[:2]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """Requirements of the AMI, and our defaults for hosts."""

    root_device: str
    """Device name of the AMI's root volume."""
    root_minimum_gib: int
    """Snapshot size of the AMI: the minimum size of a root volume."""
    root_maximum_gib: int
    """Maximum size of a gp3 volume."""
    managed_families: tuple[str, ...]
    """Instance families whose Neuron devices tasks can use on ECS Managed Instances."""
    managed_storage_minimum_gib: int
    user_data_bytes: int
    """EC2's limit for user data before base64 encoding."""
    os_gib: int
    """Approximate GiB of operating system, logs and agent on the root volume."""
    images: int
    """Number of images that fit on the default root volume."""
    throughput_mib_s: int
    boot_minutes: int
    """CloudFormation's timeout for the signal of a replacement host."""
    first_host_minutes: int
    """CloudFormation's timeout for the first host, which ECS managed scaling must start before it can boot."""
    warmup_seconds: int
    model_prefix_bytes: int
    """Maximum bytes of a model's S3 prefix in user data, as JSON."""


host_facts = reader(HostFacts, "ecs_neuron_ami", "host")


def ami_releases() -> Mapping[str, str | None]:
    """Return the presumed driver version by AMI release, oldest first; `None` where unknown."""
    return {release: facts["driver"] for release, facts in load("ecs_neuron_ami")["releases"].items()}


def ami_for(driver_version: str) -> str:
    """Return the newest AMI release with `driver_version` by `ami_releases`, or else the newest of all."""
    releases = ami_releases()
    carrying = [release for release, driver in releases.items() if driver == driver_version]
    return max(carrying or releases)


def ami_parameter(release: str) -> str:
    """Return the name of the public SSM parameter with the AMI id in each region."""
    name: str = load("ecs_neuron_ami")["parameter"]
    return name.format(release=release)


def least_root_gib(image_gib: int, *, cache_gib: int = 0) -> int:
    """Return the minimum GiB of a root volume for one image of `image_gib` and the model's cache."""
    facts = host_facts()
    return max(facts.root_minimum_gib, facts.os_gib + image_gib + cache_gib)


def default_root_gib(image_gib: int, *, cache_gib: int = 0) -> int:
    """Return the GiB of a root volume for the running image, an update of it, and the model's cache."""
    facts = host_facts()
    return max(facts.root_minimum_gib, facts.os_gib + facts.images * image_gib + cache_gib)
