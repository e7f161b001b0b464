"""Training on clusters: stages and their settings, backends, software, and environment variables of each fabric."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from llm_fleet.catalog.data_file import KEY, load, reader
from llm_fleet.catalog.neuron import NeuronRelease, neuron_releases, parts

TORCH = "torch-neuronx"
_XLA = "libneuronxla"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingStack:
    """A named set of packages of a Neuron release."""

    name: Annotated[str, KEY]
    """E.g. `nxd`."""
    title: str
    """A description."""
    families: tuple[str, ...]
    """Instance families that it trains on."""
    first: str
    last: str | None
    """First and last release that have it; `last` is `None` while it is still released."""
    why_last: str | None
    """Why it ended with `last`."""
    packages: tuple[str, ...]
    """Its packages in the release."""
    other_packages: Mapping[str, str]
    """Third-party packages, with the versions that it was published with."""
    pytorch_from: str | None = None
    pytorch_below: str | None = None
    """It supports only a release's builds of PyTorch below this version."""

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
        return {**pins, **({_XLA: known} if known else {}), **self.other_packages}

    def versions(self, release: NeuronRelease, package: str) -> tuple[str, ...]:
        """Return the versions of `package` in `release` that the stack supports."""
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


training_stacks = reader(Mapping[str, TrainingStack], "training_environments", "stacks")


@dataclass(frozen=True, slots=True, kw_only=True)
class _UsualStack:
    stack: str
    release: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pythons:
    """Python versions that a release supports; they apply to later releases up to the next entry."""

    from_release: str
    versions: tuple[str, ...]
    usual: str
    verified: bool


_usual_stacks = reader(Mapping[str, _UsualStack], "training_environments", "defaults")


def usual_stack(family: str) -> tuple[str, str] | None:
    """Return the recommended stack and release for the instance `family`; `None` for one without training support."""
    chosen = _usual_stacks().get(family)
    return None if chosen is None else (chosen.stack, chosen.release)


_stack_releases = reader(Mapping[str, str], "training_environments", "stack_releases")


def usual_release(stack: str) -> str:
    """Return the recommended release of `stack`."""
    return _stack_releases()[stack]


def stacks_for(family: str) -> list[str]:
    """Return the names of the stacks that train on instances of `family`."""
    return [stack.name for stack in training_stacks().values() if family in stack.families]


_pythons = reader(tuple[_Pythons, ...], "training_environments", "python")


def pythons_of(release: str) -> tuple[str, ...]:
    """Return the Python versions that the packages of `release` support."""
    return _python(release).versions


def usual_python(release: str) -> str:
    """Return the recommended Python version: the one in AWS's AMIs at the time of the release."""
    return _python(release).usual


def _python(release: str) -> _Pythons:
    """Return the entry for `release`; entries are ordered by first release, newest first."""
    return next(entry for entry in _pythons() if parts(entry.from_release) <= parts(release))


vendor_packages = reader(frozenset[str], "training_environments", "vendor_packages")
"""Normalized names of packages that pip may install only from the Neuron index."""
neuron_index = reader(str, "training_environments", "index")
"""URL of the Neuron package index."""


def glibc_shortfall(os: str, pytorch: str) -> tuple[str, str] | None:
    """Return the glibc of `os` and the newer one that wheels of `pytorch` require; `None` where it is new enough."""
    facts = load("training_environments")["glibc"]
    has = facts["systems"].get(os)
    if has is None or parts(pytorch)[:2] < parts(facts["pytorch_from"]) or parts(has) >= parts(facts["needs"]):
        return None
    return has, facts["needs"]


usual_cache_days = reader(int, "training_environments", "compile_cache_days")
"""Days after which an unused compiled graph is deleted."""
usual_folder = reader(str, "training_environments", "folder")
"""The name of the runtime's folder on shared storage."""
_PROCESSES = "{processes}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricVariable:
    """An environment variable of jobs on a fabric."""

    name: str
    value: str
    """`{processes}` is replaced with the number of processes of a node."""
    reason: str
    before: str | None = None
    """The first Neuron release that does not need it; `None`: all need it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingFabric:
    """The network between processes of a job on one kind of nodes."""

    name: Annotated[str, KEY]
    """E.g. `neuron-efa`."""
    accelerator: str | None
    efa: bool
    variables: tuple[FabricVariable, ...]

    def rendered(self, *, processes: int, release: str | None) -> dict[str, str]:
        """Return the variables by name, for nodes with `processes` and Neuron `release` (`None`: unknown)."""
        return {
            variable.name: variable.value.replace(_PROCESSES, str(processes))
            for variable in self.variables
            if variable.before is None or release is None or parts(release) < parts(variable.before)
        }


training_fabrics = reader(Mapping[str, TrainingFabric], "training_fabrics")


def fabric_for(accelerator: str | None, *, efa: bool) -> TrainingFabric:
    """Return the fabric of nodes with this `accelerator`; EFA without an accelerator has no fabric."""
    for fabric in training_fabrics().values():
        if fabric.accelerator == accelerator and fabric.efa is (efa and accelerator is not None):
            return fabric
    raise LookupError(f"no fabric for {accelerator}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendFacts:
    """One backend."""

    accelerators: tuple[str, ...]
    """Supported accelerators: `neuron`, `gpu` or `none`."""
    families: tuple[str, ...] | None
    """Supported instance families; `None`: all with its accelerator."""
    degrees: tuple[str, ...]
    """Parallel degrees that it supports in addition to data parallel, by the run's attributes."""
    sequence_parallel: bool
    """Whether tensor parallelism also splits the sequence."""
    keeps_scores: bool
    """Whether it keeps attention scores for the backward pass."""
    tensor_parallel_within_node: bool
    """Whether all processes of a tensor parallel group must be on one node."""


backends = reader(Mapping[str, BackendFacts], "training_backends", "backends")
_default_backends = reader(Mapping[str, str], "training_backends", "default_backend")


def default_backend(accelerator: str) -> str:
    """Return the backend for `neuron`, `gpu` or `none`."""
    return _default_backends()[accelerator]


default_sequence_length = reader(int, "training_backends", "defaults", "sequence_length")
"""Default sequence length in tokens, if the model supports it."""
default_global_batch = reader(int, "training_backends", "defaults", "global_batch")
"""Default sequences of a step, rounded to a multiple that the degrees divide."""
default_warmup_steps = reader(int, "training_backends", "defaults", "warmup_steps")
"""Default warm-up steps of the learning rate, if the run is long enough."""
default_seed = reader(int, "training_backends", "defaults", "seed")
"""Default random seed."""
most_nodes = reader(int, "training_backends", "most_nodes")
"""Maximum plausible nodes of a partition; more is an input error."""
most_processes = reader(int, "training_backends", "most_processes")
"""Maximum plausible processes of a node; more is an input error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSetting:
    """One setting of a batch file."""

    text: str
    """Default value as a bash expression."""
    default: str | None
    """Default value; `None` when bash on the node computes it, e.g. a directory from the node's settings."""
    comment: str
    """A description."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStage:
    """One batch file of `lifecycle_scripts/jobs`, or `run.sh`, which all of them use."""

    file: str
    """File name."""
    summary: str
    """A description in one sentence."""
    nodes: int
    """Default number of nodes; 0 for `run.sh`."""
    settings: Mapping[str, JobSetting]
    """Settings for users, in the order of the file."""


job_stages = reader(Mapping[str, JobStage], "job_settings", "stages")
"""The stages by name, in the order in which they are run."""
shared_settings = reader(JobStage, "job_settings", "run")
"""Settings of all stages: those of `run.sh`."""
