"""Everything that can be wrong with what nodes carry for training jobs."""

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
from llm_fleet.rules.node_setup import check_neuron_name, check_neuron_release
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.environment import EnvironmentKind, RuntimeLike
from llm_fleet.rules.training.environment_place import (
    TrainingPlace,
    check_compile_cache,
    check_folder,
    check_processes,
    check_secret,
    check_variables,
    neuron_families,
)
from llm_fleet.rules.training.groups import check_groups, check_names
from llm_fleet.rules.training.image import check_exporting, check_hub_reached, check_image, check_reached
from llm_fleet.rules.training.packages import PlannedEnvironment, check_locked, check_packages, is_version, plain, plan


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


def check_training(runtime: RuntimeLike, place: TrainingPlace) -> list[Problem]:
    """Return everything that is wrong with `runtime` in a cluster like `place`, by its attributes and indices."""
    return [
        *check_folder(runtime, place),
        *_environments(runtime, place),
        *check_processes(runtime, place),
        *check_variables(runtime.variables),
        *check_secret(runtime.hub_token_secret_arn, place.region),
        *check_hub_reached(runtime, place),
        *check_compile_cache(runtime.compile_cache, place),
    ]


def _environments(runtime: RuntimeLike, place: TrainingPlace) -> Iterator[Problem]:
    planned = [plan(environment, place) for environment in runtime.environments]
    yield from check_names(planned)
    yield from check_groups(planned, place)
    for index, environment in enumerate(planned):
        found = [
            *check_stack(environment, place),
            *check_image(environment, place),
            *check_packages(environment),
            *check_exporting(environment, place),
        ]
        # What is missing from the lock, and whether it is reached, follows from a stack that is not what was meant.
        found = found or [*check_locked(environment, place), *check_reached(environment, place)]
        yield from (problem.under("environments", index) for problem in found)
