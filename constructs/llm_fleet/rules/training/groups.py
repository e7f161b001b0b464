"""Which group has which training environment: one of each use at most, and no environment without a group."""

import re
from collections.abc import Iterator, Sequence

from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.place import TrainingPlace
from llm_fleet.rules.training.planned import PlannedEnvironment, families_of
from llm_fleet.rules.training.terms import EnvironmentKind, EnvironmentUse

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
