"""What training on clusters needs: launchers, software environments, and variables of each fabric."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.neuron import NeuronRelease, neuron_releases, parts

TORCH = "torch-neuronx"
_XLA = "libneuronxla"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingStack:
    """A named set of packages of a Neuron release."""

    name: str
    """E.g. `nxd`."""
    title: str
    """What it is, in words."""
    families: tuple[str, ...]
    """Instance families that it trains on."""
    first: str
    last: str | None
    """The releases that have it, `None` for no last one."""
    why_last: str | None
    """Why there is none after `last`."""
    packages: tuple[str, ...]
    """Packages of the release."""
    beside: Mapping[str, str]
    """Packages of others, with the versions that it was published with."""
    pytorch_from: str | None = None
    pytorch_below: str | None = None
    """Which of a release's builds of PyTorch it is made for."""

    def releases(self) -> list[NeuronRelease]:
        """Return the releases that have it, the newest first."""
        return [each for each in neuron_releases().values() if self._has(each)]

    def pins(self, release: NeuronRelease) -> dict[str, str]:
        """Return the version of each package in `release`. Raises `KeyError` for a release without it."""
        if not self._has(release):
            raise KeyError(release.name)
        pins = {name: self.versions(release, name)[0] for name in self.packages}
        usual = load("training_environments")["pytorch"].get(release.name)
        chosen = [each for each in self.versions(release, TORCH) if usual and each.startswith(f"{usual}.")]
        pins[TORCH] = chosen[0] if chosen else pins[TORCH]
        known = load("training_environments")["libneuronxla"].get(release.name)
        return {**pins, **({_XLA: known} if known else {}), **self.beside}

    def versions(self, release: NeuronRelease, package: str) -> tuple[str, ...]:
        """Return the versions of `package` in `release` that the stack is made for."""
        found = release.python.get(package, ())
        return tuple(version for version in found if package != TORCH or self._takes(version))

    def _has(self, release: NeuronRelease) -> bool:
        last = self.last or release.name
        between = parts(self.first) <= parts(release.name) <= parts(last)
        families = any(family in release.families for family in self.families)
        return between and families and all(self.versions(release, name) for name in self.packages)

    def _takes(self, pytorch: str) -> bool:
        series = parts(pytorch)[:2]
        above = self.pytorch_from is None or series >= parts(self.pytorch_from)
        return above and (self.pytorch_below is None or series < parts(self.pytorch_below))


@cache
def training_stacks() -> Mapping[str, TrainingStack]:
    """Return every stack by its name."""
    return MappingProxyType(
        {name: _stack(name, facts) for name, facts in _training_environments_facts()["stacks"].items()}
    )


def usual_stack(family: str) -> tuple[str, str] | None:
    """Return what an expert takes for the instance `family`: stack and release; `None` for one to train nothing on."""
    chosen = _training_environments_facts()["defaults"].get(family)
    return None if chosen is None else (chosen["stack"], chosen["release"])


def usual_release(stack: str) -> str:
    """Return the release that an expert takes of `stack`."""
    name: str = _training_environments_facts()["stack_releases"][stack]
    return name


def stacks_for(family: str) -> list[str]:
    """Return the names of the stacks that train on instances of `family`."""
    return [stack.name for stack in training_stacks().values() if family in stack.families]


def pythons_of(release: str) -> tuple[str, ...]:
    """Return the versions of Python that the packages of `release` are made for."""
    return tuple(_python(release)["versions"])


def usual_python(release: str) -> str:
    """Return the version that an expert takes: the one that the images of the time carried."""
    usual: str = _python(release)["usual"]
    return usual


def vendor_packages() -> frozenset[str]:
    """Return the names that only Neuron's own index may answer for, as indexes write them."""
    return frozenset(_training_environments_facts()["vendor_packages"])


def neuron_index() -> str:
    """Return the address of Neuron's package index."""
    address: str = _training_environments_facts()["index"]
    return address


def glibc_shortfall(os: str, pytorch: str) -> tuple[str, str] | None:
    """Return the glibc that `os` has and the newer one that wheels of `pytorch` ask for; `None` where it is enough."""
    facts = _training_environments_facts()["glibc"]
    has = facts["systems"].get(os)
    if has is None or parts(pytorch)[:2] < parts(facts["pytorch_from"]) or parts(has) >= parts(facts["needs"]):
        return None
    return has, facts["needs"]


def usual_cache_days() -> int:
    """Return for how many days a compiled graph is kept unused."""
    days: int = _training_environments_facts()["compile_cache_days"]
    return days


def usual_folder() -> str:
    """Return the name of the runtime's folder on shared storage."""
    name: str = _training_environments_facts()["folder"]
    return name


def _training_environments_facts() -> dict[str, Any]:
    return load("training_environments")


def _python(release: str) -> dict[str, Any]:
    """Return the entry for `release`: entries begin with a release, the newest first."""
    return next(entry for entry in _training_environments_facts()["python"] if parts(entry["from"]) <= parts(release))


def _stack(name: str, facts: dict[str, Any]) -> TrainingStack:
    return TrainingStack(
        name=name,
        title=facts["title"],
        families=tuple(facts["families"]),
        first=facts["first"],
        last=facts["last"],
        why_last=facts["why_last"],
        packages=tuple(facts["packages"]),
        beside=MappingProxyType(facts["beside"]),
        pytorch_from=facts.get("pytorch_from"),
        pytorch_below=facts.get("pytorch_below"),
    )


_PROCESSES = "{processes}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricVariable:
    """A variable of jobs on a fabric."""

    name: str
    value: str
    """`{processes}` stands for the processes of a node."""
    reason: str
    before: str | None = None
    """The Neuron release that has it no more; `None` for one that all have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingFabric:
    """What processes of a job on one kind of nodes talk over."""

    name: str
    """E.g. `neuron-efa`."""
    accelerator: str | None
    efa: bool
    variables: tuple[FabricVariable, ...]

    def rendered(self, *, processes: int, release: str | None) -> dict[str, str]:
        """Return the variables by name, for nodes with `processes` and Neuron `release` (`None` where none is told)."""
        return {
            variable.name: variable.value.replace(_PROCESSES, str(processes))
            for variable in self.variables
            if variable.before is None or release is None or parts(release) < parts(variable.before)
        }


@cache
def training_fabrics() -> Mapping[str, TrainingFabric]:
    """Return every fabric by its name."""
    return MappingProxyType(
        {
            name: TrainingFabric(
                name=name,
                accelerator=facts["accelerator"],
                efa=facts["efa"],
                variables=tuple(FabricVariable(**variable) for variable in facts["variables"]),
            )
            for name, facts in load("training_fabrics").items()
        }
    )


def fabric_for(accelerator: str | None, *, efa: bool) -> TrainingFabric:
    """Return the fabric of nodes with this `accelerator`; EFA alone, without one, is of no use to any library here."""
    for fabric in training_fabrics().values():
        if fabric.accelerator == accelerator and fabric.efa is (efa and accelerator is not None):
            return fabric
    raise LookupError(f"no fabric for {accelerator}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendFacts:
    """One backend."""

    accelerators: tuple[str, ...]
    """`neuron`, `gpu` or `none`: on what it runs."""
    families: tuple[str, ...] | None
    """Instance families that it runs on; `None` for all with its accelerator."""
    degrees: tuple[str, ...]
    """Which degrees it has, by the run's attributes, besides data parallel."""
    sequence_parallel: bool
    """Whether tensor parallel splits the sequence too."""
    keeps_scores: bool
    """Whether attention scores are kept for the backward pass."""
    tensor_parallel_within_node: bool
    """Whether the processes that share a layer must be of one node."""


@cache
def backends() -> Mapping[str, BackendFacts]:
    """Return the backends by their words."""
    return {name: _training_backends_facts(**each) for name, each in load("training_backends")["backends"].items()}


def default_backend(accelerator: str) -> str:
    """Return the backend for `neuron`, `gpu` or `none`."""
    return load("training_backends")["default_backend"][accelerator]


def default_sequence_length() -> int:
    """Return the tokens of a sequence where the model can have as many."""
    return load("training_backends")["defaults"]["sequence_length"]


def default_global_batch() -> int:
    """Return the sequences of a step, which are rounded to what the degrees divide."""
    return load("training_backends")["defaults"]["global_batch"]


def default_warmup_steps() -> int:
    """Return the steps until the learning rate is at its highest, where a run has enough of them."""
    return load("training_backends")["defaults"]["warmup_steps"]


def default_seed() -> int:
    """Return what chance begins with."""
    return load("training_backends")["defaults"]["seed"]


def most_nodes() -> int:
    """Return above how many nodes of a partition somebody has slipped."""
    return load("training_backends")["most_nodes"]


def most_processes() -> int:
    """Return above how many processes of a node somebody has slipped."""
    return load("training_backends")["most_processes"]


def _training_backends_facts(
    *, accelerators: list[str], families: list[str] | None, degrees: list[str], **rest: bool
) -> BackendFacts:
    return BackendFacts(
        accelerators=tuple(accelerators),
        families=None if families is None else tuple(families),
        degrees=tuple(degrees),
        sequence_parallel=rest["sequence_parallel"],
        keeps_scores=rest["keeps_scores"],
        tensor_parallel_within_node=rest["tensor_parallel_within_node"],
    )
