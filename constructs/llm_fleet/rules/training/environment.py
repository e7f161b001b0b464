"""All rules of a training runtime; which node group has which environment and which network fabric."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from llm_fleet.catalog.neuron import neuron_releases, parts
from llm_fleet.catalog.training_environments import (
    TORCH,
    TrainingFabric,
    TrainingStack,
    fabric_for,
    glibc_shortfall,
    pythons_of,
    stacks_for,
    training_stacks,
)
from llm_fleet.rules.codes import Code
from llm_fleet.rules.node_setup import check_neuron_name, check_neuron_release
from llm_fleet.rules.problem import Problem, is_unresolved
from llm_fleet.rules.training.environment_place import (
    TrainingPlace,
    check_compile_cache,
    check_folder,
    check_processes,
    check_secret,
    check_variables,
    facts_of_type,
    neuron_families,
    processes_of_type,
)
from llm_fleet.rules.training.image import check_exporting, check_hub_reached, check_image, check_reached
from llm_fleet.rules.training.packages import (
    PlannedEnvironment,
    check_locked,
    check_packages,
    families_of,
    is_version,
    plain,
    plan,
)
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.cluster import NodeGroup
from llm_fleet.spec.training_runtime import EnvironmentKind, EnvironmentUse, TrainingRuntime

_LABEL = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def check_training(runtime: TrainingRuntime, place: TrainingPlace) -> list[Problem]:
    """Return everything that is wrong with `runtime` in the cluster `place`, by its attributes and indices."""
    return [
        *check_folder(runtime, place),
        *_environments(runtime, place),
        *check_processes(runtime, place),
        *check_variables(runtime.variables),
        *check_secret(runtime.hub_token_secret_arn, place.region),
        *check_hub_reached(runtime, place),
        *check_compile_cache(runtime.compile_cache, place),
    ]


def _environments(runtime: TrainingRuntime, place: TrainingPlace) -> Iterator[Problem]:
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
        # With a wrong stack, problems of the lock file and of the network would be misleading.
        found = found or [*check_locked(environment, place), *check_reached(environment, place)]
        yield from (problem.under("environments", index) for problem in found)


def check_stack(environment: PlannedEnvironment, place: TrainingPlace) -> list[Problem]:
    """Return what is wrong with stack, release, Python and OS of a Neuron environment; nothing for another kind."""
    if environment.kind is not EnvironmentKind.NEURON:
        return []
    families = _families(environment, place)
    stack, release = environment.known_stack, environment.release
    if environment.stack is not None and stack is None:
        return [_no_such_stack(environment.stack, families)]
    problems = [] if release is None else check_neuron_name(release)
    if stack is None or release is None or is_unresolved(release) or problems:
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
        message="unknown stack of Neuron packages",
        remedy=did_you_mean(name, known, otherwise=f"write `{known[0]}`"),
        path=("stack",),
        value=name,
        allowed="; ".join(f"{each}: {training_stacks()[each].title}" for each in known),
    )


def _of_families(stack: TrainingStack, families: list[str]) -> Iterator[Problem]:
    """Training stacks support either trn1 or trn2, and rarely both."""
    for family in families:
        if family in stack.families:
            continue
        fitting = stacks_for(family)
        yield Problem(
            code=Code.TRAINING_STACK_FAMILY,
            message=f"{stack.name} ({stack.title}) does not support {family}",
            remedy=f"write `{fitting[0]}` for {family}, in a separate environment"
            if fitting
            else f"remove groups of {family} from this environment: no training stack supports it",
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
        message=f"Neuron {release} does not contain {stack.name}{why}",
        remedy=f"write `{(older or releases[-1:])[0]}`",
        path=("release",),
        value=release,
        allowed=", ".join(releases),
    )


def _overridden(environment: PlannedEnvironment, stack: TrainingStack, release: str) -> Iterator[Problem]:
    """Users may choose among the versions of a package in the release, e.g. an older PyTorch."""
    facts = neuron_releases()[release]
    for name in stack.packages:
        versions = stack.versions(facts, name)
        wanted = next((each for each in environment.wanted if plain(each.name) == plain(name)), None)
        if wanted is None or wanted.version is None or any(is_version(each, wanted.version) for each in versions):
            continue
        yield Problem(
            code=Code.TRAINING_STACK_RELEASE,
            message=f"Neuron {release} does not contain {wanted}",
            remedy=f"remove it to use the default version, or write {plain(name)}=={versions[0]}",
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
            message=f"the packages of Neuron {release} do not support Python {python}",
            remedy=f"write python: {fitting[-1]!r}; the image of the nodes must contain it",
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
        message=f"the wheels of {TORCH} {torch} require glibc {needs}, and {place.os} has {has}",
        remedy="set the cluster's `os` to ubuntu2204 or newer, or use Neuron 2.28.1, whose PyTorch 2.8 runs on it",
        path=("release",),
        value=environment.release,
    )


def check_names(planned: Sequence[PlannedEnvironment]) -> Iterator[Problem]:
    """Return a problem for each name of an environment that is invalid or repeated."""
    names = [environment.given.name for environment in planned]
    for index, name in enumerate(names):
        if name is None:
            continue
        if not _LABEL.fullmatch(name):
            yield Problem(
                code=Code.TRAINING_NAME,
                message="this is not a valid name of an environment, which is also the name of a folder",
                remedy="write at most 64 lower-case letters, digits, dots, hyphens and underscores",
                path=("environments", index, "name"),
                value=name,
            )
        elif name in names[:index]:
            yield Problem(
                code=Code.TRAINING_NAME,
                message="two environments have this name",
                remedy="give each environment a different name",
                path=("environments", index, "name"),
                value=name,
            )


def check_groups(planned: Sequence[PlannedEnvironment], place: TrainingPlace) -> Iterator[Problem]:
    """Return problems of environments without a group, with an unknown group, or with another environment's group."""
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
        why = "jobs do not run on this group" if name in others else "the cluster has no group with this name"
        yield Problem(
            code=Code.TRAINING_GROUP,
            message=why,
            remedy=did_you_mean(name, names, otherwise="write compute groups, or remove `groups` to use all that fit"),
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
        stack = f" of {' or '.join(known)}, which it needs" if known and environment.family else ""
        message = f"no compute group can use this environment: none has {devices}{stack}"
    else:
        message = "this environment has no group, so no node would build it"
    yield Problem(
        code=Code.TRAINING_NO_GROUP,
        message=message,
        remedy="set `groups` to compute groups that can use it, or remove the environment",
        path=("groups",),
    )


def _called(environment: PlannedEnvironment) -> str:
    return environment.given.name or f"the one of kind {environment.kind.value}"


def _two(group: str, first: PlannedEnvironment, index: int) -> Problem:
    exporting = first.use == EnvironmentUse.EXPORT
    return Problem(
        code=Code.TRAINING_TWO_ENVIRONMENTS,
        message=f"{'exports' if exporting else 'jobs'} on {group} would have two environments: this one and "
        f"{_called(first)}",
        remedy="set the `groups` of each environment"
        + ("" if exporting else ", or set `use: export` if this one is only for exports"),
        path=("environments", index, "groups"),
        value=group,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFabric:
    """The network fabric between processes of jobs on some groups, and its environment variables."""

    name: str
    groups: tuple[str, ...]
    processes: int
    variables: Mapping[str, str]


def plan_fabrics(
    runtime: TrainingRuntime, place: TrainingPlace, environments: Sequence[PlannedEnvironment]
) -> list[PlannedFabric]:
    """Return the fabrics, groups with equal settings in one, in the order of the groups."""
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
        # A second fabric of the same kind, with other processes or another release, gets a number.
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


def fabric_of(group: NodeGroup) -> TrainingFabric:
    """Return the fabric of the nodes of `group`; where instance types differ, the one that all support."""
    known = [facts for name in group.instance_types if (facts := facts_of_type(name)) is not None]
    accelerators = {facts.accelerator for facts in known}
    accelerator = accelerators.pop() if len(accelerators) == 1 else None
    return fabric_for(accelerator, efa=bool(known) and all((facts.efa_interfaces or 0) > 0 for facts in known))


def processes_of(group: NodeGroup, runtime: TrainingRuntime) -> int:
    """Return the processes of a job per node of `group`: as set, or from its instance types; 1 when unknown."""
    own = runtime.processes.get(group.name)
    if own is not None:
        return own
    counts = {count for name in group.instance_types if (count := processes_of_type(name)) is not None}
    return min(counts, default=1)


def _release(group: NodeGroup, place: TrainingPlace, environments: Sequence[PlannedEnvironment]) -> str | None:
    """Return the Neuron release that jobs of `group` use: that of its environment, or else that of the hosts."""
    own = next((each.release for each in environments if group.name in each.groups and each.stack), None)
    release = own or place.neuron_release
    return release if release in neuron_releases() else None
