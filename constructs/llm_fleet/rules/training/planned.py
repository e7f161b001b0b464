"""A training environment with every default filled in, before anything is judged or written of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from llm_fleet.catalog.model_server import model_servers
from llm_fleet.catalog.neuron import neuron_releases
from llm_fleet.catalog.training_environments import (
    TrainingStack,
    training_stacks,
    usual_python,
    usual_release,
    usual_stack,
)
from llm_fleet.catalog.training_job import smp_images
from llm_fleet.rules.training.locked import Wanted, plain
from llm_fleet.rules.training.place import TrainingGroup, TrainingPlace, facts_of_type, neuron_families
from llm_fleet.rules.training.protocols import EnvironmentLike
from llm_fleet.rules.training.terms import EnvironmentKind, EnvironmentUse

PACKAGE = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:==(?P<version>[A-Za-z0-9][A-Za-z0-9.!+_-]*))?"
)
"""`torch` or `torch==2.13.0+cpu`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedEnvironment:
    """An environment as it will be, as far as what was given allows."""

    given: EnvironmentLike
    groups: tuple[str, ...]
    """Names of the groups that it is for, unknown ones among them."""
    family: str | None
    """The first instance family with Neuron devices among them; `None` without."""
    stack: str | None
    release: str | None
    python: str | None
    """`None` where it has none of its own."""
    wanted: tuple[Wanted, ...]
    """Packages to be installed, without what they need."""

    @property
    def kind(self) -> EnvironmentKind:
        """What it is made of."""
        return self.given.kind

    @property
    def use(self) -> EnvironmentUse:
        """What it is for."""
        return use_of(self.given)

    @property
    def known_stack(self) -> TrainingStack | None:
        """The stack, where there is one of that name."""
        return training_stacks().get(self.stack or "")

    @property
    def archive_kind(self) -> str:
        """How the lock file calls what it is installed from."""
        return "archive" if self.kind is EnvironmentKind.CONDA else "wheel"


def use_of(environment: EnvironmentLike) -> EnvironmentUse:
    """Return what `environment` is for, where nobody told by its kind."""
    if environment.use is not None:
        return environment.use
    return EnvironmentUse.EXPORT if environment.kind is EnvironmentKind.SERVER else EnvironmentUse.JOBS


def plan(environment: EnvironmentLike, place: TrainingPlace) -> PlannedEnvironment:
    """Return `environment` with its defaults, in a cluster like `place`."""
    named = environment.groups
    groups = [group for group in place.compute_groups if named is None or group.name in named]
    families = list(dict.fromkeys(family for group in groups for family in neuron_families(group)))
    stack, release = environment.stack, environment.release
    if environment.kind is EnvironmentKind.NEURON:
        stack, release = _stack_and_release(environment, families)
    if environment.kind is EnvironmentKind.SMP and release is None:
        release = next(iter(smp_images()), None)
    fitting = [group.name for group in groups if _fits(group, environment, stack)]
    family = next(iter(families), None)
    return PlannedEnvironment(
        given=environment,
        groups=tuple(named if named is not None else fitting),
        family=family,
        stack=stack,
        release=release,
        python=_python(environment, release),
        wanted=_wanted(environment, stack, release),
    )


def packages_of(texts: Sequence[str]) -> list[Wanted]:
    """Return those of `texts` that name a package rightly."""
    found = [PACKAGE.fullmatch(text.strip()) for text in texts]
    return [Wanted(name=match["name"], version=match["version"]) for match in found if match]


def _stack_and_release(environment: EnvironmentLike, families: Sequence[str]) -> tuple[str | None, str | None]:
    """What is told wins; what is not is what an expert takes for it, then for the first family there is."""
    usual = next((found for family in families if (found := usual_stack(family))), None)
    stack, release = environment.stack, environment.release
    if stack is None:
        stack = _stack_of_release(release, families) or (usual[0] if usual else None)
    if release is None:
        release = usual_release(stack) if stack is not None and stack in training_stacks() else None
    return stack, release


def _stack_of_release(release: str | None, families: Sequence[str]) -> str | None:
    """Return the first stack that `release` has for `families`; `None` where it has none, or none is told."""
    if release not in neuron_releases():
        return None
    for stack in training_stacks().values():
        if set(families) & set(stack.families) and any(each.name == release for each in stack.releases()):
            return stack.name
    return None


def families_of(environment: EnvironmentLike, stack: str | None) -> tuple[str, ...] | None:
    """Return the families of Neuron devices that `environment` is made for; `None` where nobody knows."""
    if environment.kind is EnvironmentKind.NEURON:
        known = training_stacks().get(stack or "")
        return None if known is None else known.families
    server = model_servers().get(environment.server_kind or "")
    return None if server is None else server.families


def _fits(group: TrainingGroup, environment: EnvironmentLike, stack: str | None) -> bool:
    """Whether jobs of `group` may run in an environment that names no groups."""
    if environment.kind is EnvironmentKind.NEURON or use_of(environment) == EnvironmentUse.EXPORT:
        families, known = neuron_families(group), families_of(environment, stack)
        return bool(families) and (known is None or set(families) <= set(known))
    if environment.kind is EnvironmentKind.SMP:
        facts = [facts_of_type(name) for name in group.instance_types]
        return any(each is not None and each.accelerator == "gpu" for each in facts)
    return True


def _python(environment: EnvironmentLike, release: str | None) -> str | None:
    if environment.python is not None or environment.kind is not EnvironmentKind.NEURON:
        return environment.python
    return usual_python(release) if release is not None and release in neuron_releases() else None


def _wanted(environment: EnvironmentLike, stack: str | None, release: str | None) -> tuple[Wanted, ...]:
    """Return the stack's pins, over them what the user names."""
    own = {plain(each.name): each for each in packages_of(environment.packages)}
    known, found = training_stacks().get(stack or ""), neuron_releases().get(release or "")
    if environment.kind is not EnvironmentKind.NEURON or known is None or found not in known.releases():
        return tuple(own.values())
    pins = {plain(name): Wanted(name=name, version=version) for name, version in known.pins(found).items()}
    # A bare name of a package that is pinned anyhow says nothing.
    told = {name: each for name, each in own.items() if each.version is not None or name not in pins}
    return tuple({**pins, **told}.values())
