"""Facts about the releases of the AWS Neuron SDK: versions, families, and what its packages ask of each other."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from llm_fleet.catalog.data_file import load

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

    name: str
    """E.g. `2.28.1`."""
    date: str | None
    """ISO date; `None` where no source tells it."""
    families: tuple[str, ...]
    """Instance families that its driver, runtime and PyTorch are made for, e.g. `trn1`."""
    host: Mapping[str, str]
    """Versions of the host's packages, by name: driver, runtime, collectives, tools."""
    python: Mapping[str, tuple[str, ...]]
    """Versions of the wheels, by name; several where the release has one for each PyTorch."""


@cache
def neuron_releases() -> Mapping[str, NeuronRelease]:
    """Return every release in the catalog by name, the newest first."""
    return MappingProxyType(
        {name: _release(name, facts) for name, facts in load("neuron_releases")["releases"].items()}
    )


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


@cache
def compatibility() -> tuple[NeuronEdge, ...]:
    """Return what driver and runtime ask of each other."""
    return tuple(NeuronEdge(**edge) for edge in load("neuron_releases")["compatibility"])


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


def _release(name: str, facts: dict[str, Any]) -> NeuronRelease:
    return NeuronRelease(
        name=name,
        date=facts["date"],
        families=tuple(facts["families"]),
        host=MappingProxyType(facts["host"]),
        python=MappingProxyType({package: tuple(versions) for package, versions in facts["python"].items()}),
    )
