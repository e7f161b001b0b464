"""The packages of a training environment, with every default filled in, and whether the lock file has them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

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
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, is_unresolved
from llm_fleet.rules.training.environment_place import TrainingPlace, facts_of_type, neuron_families
from llm_fleet.spec.cluster import NodeGroup
from llm_fleet.spec.training_runtime import (
    CondaEnvironment,
    EnvironmentKind,
    EnvironmentUse,
    NeuronEnvironment,
    PackagedEnvironment,
    ServerEnvironment,
    SmpEnvironment,
    TrainingEnvironment,
    WheelsEnvironment,
    packages_of,
)

File = Mapping[str, Any]
"""An entry of a right lock file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A package that is asked for."""

    name: str
    version: str | None = None
    """`None` for whichever the lock file has."""

    def __str__(self) -> str:
        return self.name if self.version is None else f"{self.name}=={self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What of the lock file an environment needs."""

    files: tuple[File, ...] = ()
    """Each file once, for every system that the lock file has it for, in the order of their names."""
    missing: tuple[Wanted, ...] = ()
    """What is asked for and not there."""
    ambiguous: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Packages that the lock file has in several versions, and nothing says which."""

    @property
    def packages(self) -> list[tuple[str, str]]:
        """Names and versions, each once."""
        return list(dict.fromkeys((file["name"], file["version"]) for file in self.files))


def plain(name: str) -> str:
    """Return `name` as indexes write it: `neuronx_distributed` is `neuronx-distributed`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def is_version(pinned: str, given: str) -> bool:
    """Return whether `given` is the version `pinned`, or a build of it: `0.17.26814+435aae2b` is `0.17.26814`."""
    return given == pinned or given.startswith(f"{pinned}+")


def find(wanted: Sequence[Wanted], files: Iterable[File], *, kind: str) -> Found:
    """Return what of `files` installs `wanted`; `kind` is `wheel` or `archive`."""
    by_name: dict[str, list[File]] = {}
    for file in files:
        if file["kind"] == kind:
            by_name.setdefault(plain(file["name"]), []).append(file)
    requested = {plain(each.name): each for each in wanted}
    chosen: dict[str, list[File]] = {}
    missing: list[Wanted] = []
    ambiguous: dict[str, tuple[str, ...]] = {}
    ahead = list(requested)
    while ahead:
        name = ahead.pop(0)
        if name in chosen:
            continue
        want = requested.get(name, Wanted(name=name))
        fitting = [
            file for file in by_name.get(name, ()) if want.version is None or is_version(want.version, file["version"])
        ]
        versions = tuple(dict.fromkeys(file["version"] for file in fitting))
        if not fitting:
            missing.append(want)
        if len(versions) > 1:
            ambiguous[name] = versions
        chosen[name] = fitting
        ahead += [plain(each) for file in fitting for each in file["requires"]]
    return Found(
        files=tuple(file for name in sorted(chosen) for file in chosen[name]),
        missing=tuple(missing),
        ambiguous=ambiguous,
    )


PACKAGE = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:==(?P<version>[A-Za-z0-9][A-Za-z0-9.!+_-]*))?"
)
"""`torch` or `torch==2.13.0+cpu`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedEnvironment:
    """An environment as it will be, as far as what was given allows."""

    given: TrainingEnvironment
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
        return self.given.used_for

    @property
    def known_stack(self) -> TrainingStack | None:
        """The stack, where there is one of that name."""
        return training_stacks().get(self.stack or "")

    @property
    def archive_kind(self) -> str:
        """How the lock file calls what it is installed from."""
        return "archive" if self.kind is EnvironmentKind.CONDA else "wheel"


def plan(environment: TrainingEnvironment, place: TrainingPlace) -> PlannedEnvironment:
    """Return `environment` with its defaults, in a cluster like `place`."""
    named = environment.groups
    groups = [group for group in place.compute_groups if named is None or group.name in named]
    families = list(dict.fromkeys(family for group in groups for family in neuron_families(group)))
    stack, release = None, None
    if isinstance(environment, NeuronEnvironment):
        stack, release = _stack_and_release(environment, families)
    elif isinstance(environment, SmpEnvironment):
        release = next(iter(smp_images()), None) if environment.release is None else environment.release
    fitting = [group.name for group in groups if _may_run(group, environment, stack)]
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


def wanted_of(texts: Sequence[str]) -> list[Wanted]:
    """Return those of `texts` that name a package rightly."""
    found = [PACKAGE.fullmatch(text.strip()) for text in texts]
    return [Wanted(name=match["name"], version=match["version"]) for match in found if match]


def _stack_and_release(environment: NeuronEnvironment, families: Sequence[str]) -> tuple[str | None, str | None]:
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


def families_of(environment: TrainingEnvironment, stack: str | None) -> tuple[str, ...] | None:
    """Return the families of Neuron devices that `environment` is made for; `None` where nobody knows."""
    if environment.kind is EnvironmentKind.NEURON:
        known = training_stacks().get(stack or "")
        return None if known is None else known.families
    server = model_servers().get(environment.server_kind) if isinstance(environment, ServerEnvironment) else None
    return None if server is None else server.families


def _may_run(group: NodeGroup, environment: TrainingEnvironment, stack: str | None) -> bool:
    """Whether jobs of `group` may run in an environment that names no groups."""
    if environment.kind is EnvironmentKind.NEURON or environment.used_for == EnvironmentUse.EXPORT:
        families, known = neuron_families(group), families_of(environment, stack)
        return bool(families) and (known is None or set(families) <= set(known))
    if environment.kind is EnvironmentKind.SMP:
        facts = [facts_of_type(name) for name in group.instance_types]
        return any(each is not None and each.accelerator == "gpu" for each in facts)
    return True


def _python(environment: TrainingEnvironment, release: str | None) -> str | None:
    if not isinstance(environment, NeuronEnvironment | WheelsEnvironment):
        return None
    if environment.python is not None or isinstance(environment, WheelsEnvironment):
        return environment.python
    return usual_python(release) if release is not None and release in neuron_releases() else None


def _wanted(environment: TrainingEnvironment, stack: str | None, release: str | None) -> tuple[Wanted, ...]:
    """Return the stack's pins, over them what the user names."""
    own = {plain(each.name): each for each in wanted_of(packages_of(environment))}
    known, found = training_stacks().get(stack or ""), neuron_releases().get(release or "")
    if environment.kind is not EnvironmentKind.NEURON or known is None or found not in known.releases():
        return tuple(own.values())
    pins = {plain(name): Wanted(name=name, version=version) for name, version in known.pins(found).items()}
    # A bare name of a package that is pinned anyhow says nothing.
    reported = {name: each for name, each in own.items() if each.version is not None or name not in pins}
    return tuple({**pins, **reported}.values())


_TAG = re.compile(r"(?P<kind>cp|py)3(?P<minor>[0-9]*)")


def fits_python(file: Mapping[str, Any], python: str) -> bool:
    """Return whether the locked `file` is for CPython `python`, e.g. `3.10`; a name that tells nothing passes."""
    parts = unquote(file["url"]).rsplit("/", 1)[-1].split("?")[0].removesuffix(".whl").split("-")
    if len(parts) < 5:
        return True
    return any(_tag_fits(tag, "abi3" in parts[-2].split("."), python) for tag in parts[-3].split("."))


def _tag_fits(tag: str, stable: bool, python: str) -> bool:
    """One for a stable ABI, or for Python's own code alone, is for all later ones too."""
    match = _TAG.fullmatch(tag)
    if match is None:
        return False
    ours, theirs = int(python.split(".")[1]), int(match["minor"] or 0)
    return theirs <= ours if stable or match["kind"] == "py" else theirs == ours


_PYTHON = re.compile(r"3\.(?:[89]|[1-9][0-9])")
_PROGRAM = re.compile(r"/?[A-Za-z0-9._+-]+(?:/[A-Za-z0-9._+-]+)*")
_SHOWN = 8


def check_packages(environment: PlannedEnvironment) -> Iterator[Problem]:
    """Return what is wrong with what is asked for, whatever the lock file has."""
    given = environment.given
    for index, text in enumerate(packages_of(given)):
        if not is_unresolved(text) and not PACKAGE.fullmatch(text.strip()):
            yield Problem(
                code=Code.TRAINING_PACKAGE,
                message="this names no package of one version",
                remedy="write `name`, or `name==version`: which version it is, the lock file says",
                path=("packages", index),
                value=text,
            )
    if isinstance(given, WheelsEnvironment | CondaEnvironment) and not given.packages:
        yield Problem(
            code=Code.TRAINING_PACKAGE,
            message="nothing would be in this environment",
            remedy="name its packages",
            path=("packages",),
        )
    if isinstance(given, WheelsEnvironment) and not _PYTHON.fullmatch(given.python):
        yield Problem(
            code=Code.TRAINING_PYTHON,
            message="this is no version of Python that an environment can be made with",
            remedy="write it with one dot and in quotes, e.g. '3.11'",
            path=("python",),
            value=given.python,
        )
    if isinstance(given, CondaEnvironment) and not _PROGRAM.fullmatch(given.program):
        yield Problem(
            code=Code.TRAINING_CONDA,
            message="nobody says which program of the nodes makes this environment",
            remedy="write its name or path, e.g. /opt/conda/bin/conda",
            path=("program",),
            value=given.program or None,
        )


def check_locked(environment: PlannedEnvironment, place: TrainingPlace) -> list[Problem]:
    """Return what of an environment, which is otherwise right, the nodes could not fetch."""
    if (
        not isinstance(environment.given, PackagedEnvironment)
        or not environment.wanted
        or not environment.groups
        or place.files is None
    ):
        return []
    if place.source == "none":
        return [_no_downloads(environment)]
    found = find(environment.wanted, place.files, kind=environment.archive_kind)
    if found.missing:
        return [_missing(environment, found, place)]
    return [*_ambiguous(found), *_other_python(environment, found)]


def lock_command(environment: PlannedEnvironment) -> str:
    """Return the command that pins the packages of `environment`."""
    if environment.kind is EnvironmentKind.CONDA:
        return "llm-fleet mirror lock --system SYSTEM --file NAME VERSION URL SHA256 …"
    start = f"llm-fleet mirror lock --system SYSTEM --python {environment.python}"
    if environment.kind is EnvironmentKind.NEURON:
        start += f" --environment {environment.stack} --neuron {environment.release}"
    return f"{start} --requirements FILE" if packages_of(environment.given) else start


def _no_downloads(environment: PlannedEnvironment) -> Problem:
    return Problem(
        code=Code.TRAINING_NO_DOWNLOADS,
        message="nodes are to install this environment, and fetch nothing",
        remedy=f"pin it with `{lock_command(environment)}`, and give the lock file as `downloads`",
        path=("packages",) if packages_of(environment.given) else (),
        value=_shown(environment.wanted),
    )


def _missing(environment: PlannedEnvironment, found: Found, place: TrainingPlace) -> Problem:
    kind = environment.archive_kind
    none = not any(file["kind"] == kind for file in place.files or ())
    what = f"the lock file has no {kind}s" if none else f"the lock file has no {kind} of {_shown(found.missing)}"
    return Problem(
        code=Code.TRAINING_NOT_LOCKED,
        message=f"nodes are to install this environment, and {what}",
        remedy=f"make it anew with `{lock_command(environment)}`, and --keep what it has",
        path=("packages",) if packages_of(environment.given) else (),
        value=_shown(environment.wanted),
    )


def _ambiguous(found: Found) -> Iterator[Problem]:
    for name, versions in found.ambiguous.items():
        yield Problem(
            code=Code.TRAINING_LOCK_AMBIGUOUS,
            message=f"the lock file has {name} in several versions, and nothing says which is meant",
            remedy=f"add {name}=={versions[0]} to `packages`, or take the others out of the lock file",
            path=("packages",),
            allowed=", ".join(versions),
        )


def _other_python(environment: PlannedEnvironment, found: Found) -> Iterator[Problem]:
    python = environment.python
    if python is None or environment.kind is EnvironmentKind.CONDA:
        return
    other = [
        Wanted(name=file["name"], version=file["version"]) for file in found.files if not fits_python(file, python)
    ]
    if other:
        yield Problem(
            code=Code.TRAINING_LOCK_PYTHON,
            message=f"the lock file's wheels of {_shown(other)} are not for Python {python}",
            remedy=f"make it anew with `{lock_command(environment)}`, or write the Python that they are for",
            path=("python",),
            value=python,
        )


def _shown(wanted: Sequence[Wanted]) -> str:
    names = [str(each) for each in wanted]
    rest = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
