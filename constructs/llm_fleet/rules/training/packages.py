"""The packages of a training environment, with defaults, and whether the lock file has them."""

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
"""An entry of a lock file that passed its rules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A requested package."""

    name: str
    version: str | None = None
    """`None` for the version in the lock file."""

    def __str__(self) -> str:
        return self.name if self.version is None else f"{self.name}=={self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The entries of the lock file that an environment needs."""

    files: tuple[File, ...] = ()
    """Each file once, for every system in the lock file, in the order of their names."""
    missing: tuple[Wanted, ...] = ()
    """Requested packages that the lock file does not have."""
    ambiguous: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Packages that the lock file has in several versions, none of which is requested."""

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
    """An environment with its defaults, as far as they are known."""

    given: TrainingEnvironment
    groups: tuple[str, ...]
    """Names of its groups, including unknown ones."""
    family: str | None
    """The first instance family with Neuron devices in these groups; `None` without."""
    stack: str | None
    release: str | None
    python: str | None
    """`None` where it has no Python of its own."""
    wanted: tuple[Wanted, ...]
    """Packages to install, without their dependencies."""

    @property
    def kind(self) -> EnvironmentKind:
        """The kind that the user wrote."""
        return self.given.kind

    @property
    def use(self) -> EnvironmentUse:
        """The use as set, or the default of its kind."""
        return self.given.used_for

    @property
    def known_stack(self) -> TrainingStack | None:
        """The stack with that name; `None` when there is none."""
        return training_stacks().get(self.stack or "")

    @property
    def archive_kind(self) -> str:
        """The lock file's `kind` of the files that it is installed from."""
        return "archive" if self.kind is EnvironmentKind.CONDA else "wheel"


def plan(environment: TrainingEnvironment, place: TrainingPlace) -> PlannedEnvironment:
    """Return `environment` with its defaults in the cluster `place`."""
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
    """Return the packages of those `texts` that have the right form."""
    found = [PACKAGE.fullmatch(text.strip()) for text in texts]
    return [Wanted(name=match["name"], version=match["version"]) for match in found if match]


def _stack_and_release(environment: NeuronEnvironment, families: Sequence[str]) -> tuple[str | None, str | None]:
    """What the user set wins; the rest are the defaults for it, then for the first instance family."""
    usual = next((found for family in families if (found := usual_stack(family))), None)
    stack, release = environment.stack, environment.release
    if stack is None:
        stack = _stack_of_release(release, families) or (usual[0] if usual else None)
    if release is None:
        release = usual_release(stack) if stack is not None and stack in training_stacks() else None
    return stack, release


def _stack_of_release(release: str | None, families: Sequence[str]) -> str | None:
    """Return the first stack that `release` has for `families`; `None` when there is none, or no known release."""
    if release not in neuron_releases():
        return None
    for stack in training_stacks().values():
        if set(families) & set(stack.families) and any(each.name == release for each in stack.releases()):
            return stack.name
    return None


def families_of(environment: TrainingEnvironment, stack: str | None) -> tuple[str, ...] | None:
    """Return the instance families with Neuron devices that `environment` supports; `None` when unknown."""
    if environment.kind is EnvironmentKind.NEURON:
        known = training_stacks().get(stack or "")
        return None if known is None else known.families
    server = model_servers().get(environment.server_kind) if isinstance(environment, ServerEnvironment) else None
    return None if server is None else server.families


def _may_run(group: NodeGroup, environment: TrainingEnvironment, stack: str | None) -> bool:
    """Whether `group` can use an environment that sets no `groups`."""
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
    """Return the pins of the stack, overridden by the user's packages."""
    own = {plain(each.name): each for each in wanted_of(packages_of(environment))}
    known, found = training_stacks().get(stack or ""), neuron_releases().get(release or "")
    if environment.kind is not EnvironmentKind.NEURON or known is None or found not in known.releases():
        return tuple(own.values())
    pins = {plain(name): Wanted(name=name, version=version) for name, version in known.pins(found).items()}
    # A package without version does not override its pin.
    chosen = {name: each for name, each in own.items() if each.version is not None or name not in pins}
    return tuple({**pins, **chosen}.values())


_TAG = re.compile(r"(?P<kind>cp|py)3(?P<minor>[0-9]*)")


def fits_python(file: Mapping[str, Any], python: str) -> bool:
    """Return whether the locked `file` is for CPython `python`, e.g. `3.10`; a file name without tags passes."""
    parts = unquote(file["url"]).rsplit("/", 1)[-1].split("?")[0].removesuffix(".whl").split("-")
    if len(parts) < 5:
        return True
    return any(_tag_fits(tag, "abi3" in parts[-2].split("."), python) for tag in parts[-3].split("."))


def _tag_fits(tag: str, stable: bool, python: str) -> bool:
    """A wheel for the stable ABI or of pure Python also supports all later versions."""
    match = _TAG.fullmatch(tag)
    if match is None:
        return False
    ours, theirs = int(python.split(".")[1]), int(match["minor"] or 0)
    return theirs <= ours if stable or match["kind"] == "py" else theirs == ours


_PYTHON = re.compile(r"3\.(?:[89]|[1-9][0-9])")
_PROGRAM = re.compile(r"/?[A-Za-z0-9._+-]+(?:/[A-Za-z0-9._+-]+)*")
_SHOWN = 8


def check_packages(environment: PlannedEnvironment) -> Iterator[Problem]:
    """Return what is wrong with the requested packages, independent of the lock file."""
    given = environment.given
    for index, text in enumerate(packages_of(given)):
        if not is_unresolved(text) and not PACKAGE.fullmatch(text.strip()):
            yield Problem(
                code=Code.TRAINING_PACKAGE,
                message="this is not a package name, or a name with one exact version",
                remedy="write `name`, for the version in the lock file, or `name==version`",
                path=("packages", index),
                value=text,
            )
    if isinstance(given, WheelsEnvironment | CondaEnvironment) and not given.packages:
        yield Problem(
            code=Code.TRAINING_PACKAGE,
            message="`packages` is required: this environment would be empty",
            remedy="write the names of its packages",
            path=("packages",),
        )
    if isinstance(given, WheelsEnvironment) and not _PYTHON.fullmatch(given.python):
        yield Problem(
            code=Code.TRAINING_PYTHON,
            message="an environment cannot be made with this Python version",
            remedy="write major and minor version in quotes, e.g. `'3.11'`",
            path=("python",),
            value=given.python,
        )
    if isinstance(given, CondaEnvironment) and not _PROGRAM.fullmatch(given.program):
        yield Problem(
            code=Code.TRAINING_CONDA,
            message="`program` is required: the conda program on the nodes that creates this environment",
            remedy="write its name or path, e.g. /opt/conda/bin/conda",
            path=("program",),
            value=given.program or None,
        )


def check_locked(environment: PlannedEnvironment, place: TrainingPlace) -> list[Problem]:
    """Return which packages of an environment the nodes could not download from the lock file's URLs."""
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
        message="`downloads` is required: the nodes must download the packages of this environment",
        remedy=f"create a lock file with `{lock_command(environment)}`, and set `downloads` to it",
        path=("packages",) if packages_of(environment.given) else (),
        value=_shown(environment.wanted),
    )


def _missing(environment: PlannedEnvironment, found: Found, place: TrainingPlace) -> Problem:
    kind = environment.archive_kind
    none = not any(file["kind"] == kind for file in place.files or ())
    what = f"the lock file has no {kind}s" if none else f"the lock file has no {kind} of {_shown(found.missing)}"
    return Problem(
        code=Code.TRAINING_NOT_LOCKED,
        message=f"the nodes cannot install this environment: {what}",
        remedy=f"create the lock file again with `{lock_command(environment)}`, and --keep its other entries",
        path=("packages",) if packages_of(environment.given) else (),
        value=_shown(environment.wanted),
    )


def _ambiguous(found: Found) -> Iterator[Problem]:
    for name, versions in found.ambiguous.items():
        yield Problem(
            code=Code.TRAINING_LOCK_AMBIGUOUS,
            message=f"the lock file has several versions of {name}, and `packages` selects none of them",
            remedy=f"add {name}=={versions[0]} to `packages`, or remove the others from the lock file",
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
            message=f"the wheels of {_shown(other)} in the lock file are not for Python {python}",
            remedy=f"create the lock file again with `{lock_command(environment)}`, or write the Python version of "
            "the wheels",
            path=("python",),
            value=python,
        )


def _shown(wanted: Sequence[Wanted]) -> str:
    names = [str(each) for each in wanted]
    rest = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
