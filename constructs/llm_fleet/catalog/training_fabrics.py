"""Facts about what processes of a training job talk over: which variables each fabric needs, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.neuron_release import parts

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
