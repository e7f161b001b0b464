"""Which group's jobs talk over what, with which variables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llm_fleet.catalog.neuron import neuron_releases
from llm_fleet.catalog.training_environments import TrainingFabric, fabric_for
from llm_fleet.rules.training.place import TrainingGroup, TrainingPlace, facts_of_type, processes_of_type
from llm_fleet.rules.training.planned import PlannedEnvironment
from llm_fleet.rules.training.protocols import RuntimeLike


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFabric:
    """What jobs on some groups talk over."""

    name: str
    groups: tuple[str, ...]
    processes: int
    variables: Mapping[str, str]


def plan_fabrics(
    runtime: RuntimeLike, place: TrainingPlace, environments: Sequence[PlannedEnvironment]
) -> list[PlannedFabric]:
    """Return one fabric for all groups that are alike in it, in the order of the groups."""
    alike: dict[tuple[str, int, tuple[tuple[str, str], ...]], list[str]] = {}
    for group in place.compute_groups:
        fabric = fabric_of(group)
        processes = processes_of(group, runtime)
        release = _release(group, place, environments)
        variables = {**fabric.rendered(processes=processes, release=release), **runtime.variables}
        alike.setdefault((fabric.name, processes, tuple(variables.items())), []).append(group.name)
    taken: list[str] = []
    planned: list[PlannedFabric] = []
    for (name, processes, variables), groups in alike.items():
        # A second fabric of one kind, with other processes or another release, needs a name of its own.
        taken.append(name)
        number = taken.count(name)
        planned.append(
            PlannedFabric(
                name=name if number == 1 else f"{name}-{number}",
                groups=tuple(groups),
                processes=processes,
                variables=dict(variables),
            )
        )
    return planned


def fabric_of(group: TrainingGroup) -> TrainingFabric:
    """Return the fabric of the nodes of `group`; that of the least of its instance types, where they differ."""
    known = [facts for name in group.instance_types if (facts := facts_of_type(name)) is not None]
    accelerators = {facts.accelerator for facts in known}
    accelerator = accelerators.pop() if len(accelerators) == 1 else None
    return fabric_for(accelerator, efa=bool(known) and all((facts.efa_interfaces or 0) > 0 for facts in known))


def processes_of(group: TrainingGroup, runtime: RuntimeLike) -> int:
    """Return how many processes of a job a node of `group` has; 1 where nobody knows."""
    told = runtime.processes.get(group.name)
    if told is not None:
        return told
    counts = {count for name in group.instance_types if (count := processes_of_type(name)) is not None}
    return min(counts, default=1)


def _release(group: TrainingGroup, place: TrainingPlace, environments: Sequence[PlannedEnvironment]) -> str | None:
    """Return the Neuron release that jobs of `group` run with: its environment's, else that of the hosts."""
    own = next((each.release for each in environments if group.name in each.groups and each.stack), None)
    release = own or place.neuron_release
    return release if release in neuron_releases() else None
