"""Whether a stack of Neuron packages, its release and its Python go together, with the instances and their system."""

from collections.abc import Iterator

from llm_fleet.catalog.neuron import neuron_releases, parts
from llm_fleet.catalog.training_environments import (
    TORCH,
    TrainingStack,
    glibc_shortfall,
    pythons_of,
    stacks_for,
    training_stacks,
)
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.neuron import check_neuron_name, check_neuron_release
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.locked import is_version, plain
from llm_fleet.rules.training.place import TrainingPlace, neuron_families
from llm_fleet.rules.training.planned import PlannedEnvironment
from llm_fleet.rules.training.terms import EnvironmentKind


def check_stack(environment: PlannedEnvironment, place: TrainingPlace) -> list[Problem]:
    """Return why an environment of a Neuron release cannot be; nothing of any other one."""
    if environment.kind is not EnvironmentKind.NEURON:
        return []
    families = _families(environment, place)
    stack, release = environment.known_stack, environment.release
    if environment.stack is not None and stack is None:
        return [_no_such_stack(environment.stack, families)]
    problems = [] if release is None else check_neuron_name(release)
    if stack is None or release is None or problems:
        return problems
    problems = [*_of_families(stack, families), *_of_release(stack, release)]
    if problems:
        return problems
    found = check_neuron_release(release, families) if families else []
    return found or [
        *_overridden(environment, stack, release),
        *_python(environment, release),
        *_glibc(environment, place),
    ]


def _families(environment: PlannedEnvironment, place: TrainingPlace) -> list[str]:
    groups = [group for group in place.compute_groups if group.name in environment.groups]
    return list(dict.fromkeys(family for group in groups for family in neuron_families(group)))


def _no_such_stack(name: str, families: list[str]) -> Problem:
    known = sorted({stack for family in families for stack in stacks_for(family)}) or list(training_stacks())
    return Problem(
        code=Code.TRAINING_STACK,
        message="there is no such stack of Neuron packages",
        remedy=did_you_mean(name, known, otherwise=f"write {known[0]!r}"),
        path=("stack",),
        value=name,
        allowed="; ".join(f"{each}: {training_stacks()[each].title}" for each in known),
    )


def _of_families(stack: TrainingStack, families: list[str]) -> Iterator[Problem]:
    """trn1 and trn2 are different worlds: what one trains with, the other may not have."""
    for family in families:
        if family in stack.families:
            continue
        fitting = stacks_for(family)
        yield Problem(
            code=Code.TRAINING_STACK_FAMILY,
            message=f"{stack.name} ({stack.title}) does not train on {family}",
            remedy=f"write {fitting[0]!r} for {family}, in an environment of its own"
            if fitting
            else f"take {family} out of its groups: there is no stack to train on it",
            path=("stack",),
            value=stack.name,
            allowed=", ".join(fitting),
        )


def _of_release(stack: TrainingStack, release: str) -> Iterator[Problem]:
    releases = [each.name for each in stack.releases()]
    if release in releases:
        return
    late = stack.last is not None and parts(release) > parts(stack.last)
    why = f": {stack.why_last}" if late and stack.why_last else ""
    older = [each for each in releases if parts(each) < parts(release)]
    yield Problem(
        code=Code.TRAINING_STACK_RELEASE,
        message=f"Neuron {release} has no {stack.name}{why}",
        remedy=f"take {(older or releases[-1:])[0]!r}",
        path=("release",),
        value=release,
        allowed=", ".join(releases),
    )


def _overridden(environment: PlannedEnvironment, stack: TrainingStack, release: str) -> Iterator[Problem]:
    """A version of the release's own packages may be chosen among those that it has, e.g. an older PyTorch."""
    facts = neuron_releases()[release]
    for name in stack.packages:
        versions = stack.versions(facts, name)
        wanted = next((each for each in environment.wanted if plain(each.name) == plain(name)), None)
        if wanted is None or wanted.version is None or any(is_version(each, wanted.version) for each in versions):
            continue
        yield Problem(
            code=Code.TRAINING_STACK_RELEASE,
            message=f"Neuron {release} has no {wanted}",
            remedy=f"leave it out for the usual one, or write {plain(name)}=={versions[0]}",
            path=("packages",),
            value=str(wanted),
            allowed=", ".join(versions),
        )


def _python(environment: PlannedEnvironment, release: str) -> Iterator[Problem]:
    python = environment.python
    fitting = pythons_of(release)
    if python is not None and python not in fitting:
        yield Problem(
            code=Code.TRAINING_PYTHON,
            message=f"the packages of Neuron {release} are not made for Python {python}",
            remedy=f"write python: {fitting[-1]!r}, which the nodes' image must have",
            path=("python",),
            value=python,
            allowed=", ".join(fitting),
        )


def _glibc(environment: PlannedEnvironment, place: TrainingPlace) -> Iterator[Problem]:
    torch = next((each.version for each in environment.wanted if plain(each.name) == TORCH), None)
    short = glibc_shortfall(place.os, torch) if place.os is not None and torch is not None else None
    if short is None:
        return
    has, needs = short
    yield Problem(
        code=Code.TRAINING_GLIBC,
        message=f"the wheels of {TORCH} {torch} ask for glibc {needs}, and {place.os} has {has}",
        remedy="take `os: ubuntu2204` or newer for the cluster, or Neuron 2.28.1, whose PyTorch 2.8 runs there",
        path=("release",),
        value=environment.release,
    )
