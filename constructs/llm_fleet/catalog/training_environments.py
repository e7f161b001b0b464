"""What training on clusters needs: stages and their settings, launchers, software, and variables of each fabric."""

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
    next_to: Mapping[str, str]
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
        return {**pins, **({_XLA: known} if known else {}), **self.next_to}

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


training_stacks = reader(Mapping[str, TrainingStack], "training_environments", "stacks")


@dataclass(frozen=True, slots=True, kw_only=True)
class _UsualStack:
    stack: str
    release: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pythons:
    """The versions of Python that a release and those after it, up to the next entry, are made for."""

    from_release: str
    versions: tuple[str, ...]
    usual: str
    verified: bool


_usual_stacks = reader(Mapping[str, _UsualStack], "training_environments", "defaults")


def usual_stack(family: str) -> tuple[str, str] | None:
    """Return what an expert takes for the instance `family`: stack and release; `None` for one to train nothing on."""
    chosen = _usual_stacks().get(family)
    return None if chosen is None else (chosen.stack, chosen.release)


_stack_releases = reader(Mapping[str, str], "training_environments", "stack_releases")


def usual_release(stack: str) -> str:
    """Return the release that an expert takes of `stack`."""
    return _stack_releases()[stack]


def stacks_for(family: str) -> list[str]:
    """Return the names of the stacks that train on instances of `family`."""
    return [stack.name for stack in training_stacks().values() if family in stack.families]


_pythons = reader(tuple[_Pythons, ...], "training_environments", "python")


def pythons_of(release: str) -> tuple[str, ...]:
    """Return the versions of Python that the packages of `release` are made for."""
    return _python(release).versions


def usual_python(release: str) -> str:
    """Return the version that an expert takes: the one that the images of the time carried."""
    return _python(release).usual


def _python(release: str) -> _Pythons:
    """Return the entry for `release`: entries begin with a release, the newest first."""
    return next(entry for entry in _pythons() if parts(entry.from_release) <= parts(release))


vendor_packages = reader(frozenset[str], "training_environments", "vendor_packages")
"""The names that only Neuron's own index may answer for, as indexes write them."""
neuron_index = reader(str, "training_environments", "index")
"""The address of Neuron's package index."""


def glibc_shortfall(os: str, pytorch: str) -> tuple[str, str] | None:
    """Return the glibc that `os` has and the newer one that wheels of `pytorch` ask for; `None` where it is enough."""
    facts = load("training_environments")["glibc"]
    has = facts["systems"].get(os)
    if has is None or parts(pytorch)[:2] < parts(facts["pytorch_from"]) or parts(has) >= parts(facts["needs"]):
        return None
    return has, facts["needs"]


usual_cache_days = reader(int, "training_environments", "compile_cache_days")
"""For how many days a compiled graph is kept unused."""
usual_folder = reader(str, "training_environments", "folder")
"""The name of the runtime's folder on shared storage."""
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

    name: Annotated[str, KEY]
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


training_fabrics = reader(Mapping[str, TrainingFabric], "training_fabrics")


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


backends = reader(Mapping[str, BackendFacts], "training_backends", "backends")
_default_backends = reader(Mapping[str, str], "training_backends", "default_backend")


def default_backend(accelerator: str) -> str:
    """Return the backend for `neuron`, `gpu` or `none`."""
    return _default_backends()[accelerator]


default_sequence_length = reader(int, "training_backends", "defaults", "sequence_length")
"""The tokens of a sequence where the model can have as many."""
default_global_batch = reader(int, "training_backends", "defaults", "global_batch")
"""The sequences of a step, which are rounded to what the degrees divide."""
default_warmup_steps = reader(int, "training_backends", "defaults", "warmup_steps")
"""The steps until the learning rate is at its highest, where a run has enough of them."""
default_seed = reader(int, "training_backends", "defaults", "seed")
"""What chance begins with."""
most_nodes = reader(int, "training_backends", "most_nodes")
"""Above how many nodes of a partition somebody has slipped."""
most_processes = reader(int, "training_backends", "most_processes")
"""Above how many processes of a node somebody has slipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSetting:
    """One setting of a batch file."""

    text: str
    """What it is where nobody sets it, as bash reads it."""
    default: str | None
    """The same as the job gets it; `None` when only bash on the node knows, e.g. a folder that nodes tell."""
    comment: str
    """What it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStage:
    """One batch file of `lifecycle_scripts/jobs`; or `run.sh`, which all share."""

    file: str
    """Its name."""
    summary: str
    """What it does, in a sentence."""
    nodes: int
    """How many nodes it asks for where nobody says; 0 for `run.sh`."""
    settings: Mapping[str, JobSetting]
    """What it lets its user set, in the order of the file."""


job_stages = reader(Mapping[str, JobStage], "job_settings", "stages")
"""The stages by name, in the order in which they are run."""
shared_settings = reader(JobStage, "job_settings", "run")
"""What all stages share: the settings of `run.sh`."""
