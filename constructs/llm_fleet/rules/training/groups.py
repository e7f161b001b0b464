"""Which group has which training environment, and which group's jobs talk over what."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from llm_fleet.catalog.neuron import neuron_releases
from llm_fleet.catalog.training_environments import TrainingFabric, fabric_for
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.environment import EnvironmentKind, EnvironmentUse, RuntimeLike
from llm_fleet.rules.training.environment_place import TrainingGroup, TrainingPlace, facts_of_type, processes_of_type
from llm_fleet.rules.training.packages import PlannedEnvironment, families_of

_LABEL = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def check_names(planned: Sequence[PlannedEnvironment]) -> Iterator[Problem]:
    """Return which labels no environment can bear, or two bear."""
    labels = [environment.given.label for environment in planned]
    for index, label in enumerate(labels):
        if label is None:
            continue
        if not _LABEL.fullmatch(label):
            yield Problem(
                code=Code.TRAINING_NAME,
                message="an environment is a folder on the nodes, and cannot be called so",
                remedy="take at most 64 lower-case letters, digits, dots, hyphens and underscores",
                path=("environments", index, "label"),
                value=label,
            )
        elif label in labels[:index]:
            yield Problem(
                code=Code.TRAINING_NAME,
                message="two environments are called so",
                remedy="give each a name of its own",
                path=("environments", index, "label"),
                value=label,
            )


def check_groups(planned: Sequence[PlannedEnvironment], place: TrainingPlace) -> Iterator[Problem]:
    """Return which environments are for no group, or for one that jobs do not run on, or that has another."""
    taken: dict[tuple[str, str], int] = {}
    for index, environment in enumerate(planned):
        found = [*_unknown(environment, place), *_none(environment, place)]
        yield from (problem.under("environments", index) for problem in found)
        for group in environment.groups:
            first = taken.setdefault((environment.use, group), index)
            if first != index:
                yield _two(group, planned[first], index)


def _unknown(environment: PlannedEnvironment, place: TrainingPlace) -> Iterator[Problem]:
    names = [group.name for group in place.compute_groups]
    others = {group.name for group in place.groups} - set(names)
    for index, name in enumerate(environment.given.groups or ()):
        if name in names:
            continue
        why = "no jobs run on this group" if name in others else "the cluster has no such group"
        yield Problem(
            code=Code.TRAINING_GROUP,
            message=why,
            remedy=did_you_mean(name, names, otherwise="name compute groups, or leave `groups` out for all it fits"),
            path=("groups", index),
            value=name,
            allowed=", ".join(names),
        )


def _none(environment: PlannedEnvironment, place: TrainingPlace) -> Iterator[Problem]:
    if environment.groups or not place.compute_groups:
        return
    devices = {EnvironmentKind.NEURON: "Neuron devices", EnvironmentKind.SMP: "GPUs"}.get(environment.kind)
    if environment.use == EnvironmentUse.EXPORT:
        devices = "Neuron devices"
    if environment.given.groups is None and devices is not None:
        known = families_of(environment.given, environment.stack)
        stack = f" that it runs on, {' or '.join(known)}" if known and environment.family else ""
        message = f"this environment is for no group: none has {devices}{stack}"
    else:
        message = "this environment is for no group, so no node would build it"
    yield Problem(
        code=Code.TRAINING_NO_GROUP,
        message=message,
        remedy="name compute groups that it is for, or remove it",
        path=("groups",),
    )


def _called(environment: PlannedEnvironment) -> str:
    return environment.given.label or f"that of kind {environment.kind.value}"


def _two(group: str, first: PlannedEnvironment, index: int) -> Problem:
    exporting = first.use == EnvironmentUse.EXPORT
    return Problem(
        code=Code.TRAINING_TWO_ENVIRONMENTS,
        message=f"{'exports' if exporting else 'jobs'} on {group} would have two environments: this one and "
        f"{_called(first)}",
        remedy="say with `groups` which group each is for"
        + ("" if exporting else "; with `use: export` that this one is for exports alone"),
        path=("environments", index, "groups"),
        value=group,
    )


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
