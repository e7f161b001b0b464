"""Writes the lock file, and builds the mirror from it."""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, fields
from pathlib import Path

from llm_fleet.catalog.neuron import (
    NeuronPackage,
    alternative_packages,
    alternative_releases,
    host_packages,
    neuron_releases,
)
from llm_fleet.cli.mirror.apt_index import AptIndex, Wanted
from llm_fleet.cli.mirror.index_pages import fetch, named_file
from llm_fleet.cli.mirror.locked_file import LockedFile, Store
from llm_fleet.cli.mirror.wheels import Resolver, file_lines, find_wheel, indexes_of, stack_lines, with_stack
from llm_fleet.cli.verb import refuse
from llm_fleet.rules.codes import Code
from llm_fleet.rules.node_setup import check_neuron_name
from llm_fleet.rules.problem import FleetError, Problem, raise_problems

_SYSTEM = re.compile(r"[a-z]+-[0-9][0-9.]*-(amd64|arm64|x86_64|aarch64)")
_DEBIAN = re.compile(r"(debian|ubuntu)-[0-9.]+-(amd64|arm64)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The packages and files to pin."""

    system: str
    packages: Sequence[str]
    neuron: str | None
    sources: Sequence[Path]
    keyrings: Sequence[Path]
    installed: Path | None
    wheels: Sequence[str]
    indexes: Sequence[str]
    python: str
    environment: str | None
    requirements: Path | None
    own_indexes: Sequence[Sequence[str]]
    files: Sequence[Sequence[str]]

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> "Request":
        """Return the options of the command line, which have the names of the fields."""
        return cls(**{field.name: getattr(arguments, field.name) for field in fields(cls)})

    @property
    def asks_apt(self) -> bool:
        """Whether apt packages are requested: also by a Neuron release, unless only its Python stack is."""
        return bool(self.packages or (self.neuron and (self.sources or not self.environment)))


def resolve(request: Request, scratch: Path) -> list[LockedFile]:
    """Return the files to pin. `scratch`: an empty directory. Raises `FleetError`."""
    _check_lock(request)
    found = _packages(request, scratch) if request.asks_apt else []
    found += _environment(request, scratch / "python") if request.environment or request.requirements else []
    found += [_wheel(request, wheel) for wheel in request.wheels]
    found += [named_file(*file, system=request.system) for file in request.files]
    return list({(file.name, file.version): file for file in found}.values())


def _check_lock(request: Request) -> None:
    if not _SYSTEM.fullmatch(request.system):
        remedy = "write `ID`, `VERSION_ID` (/etc/os-release of the nodes) and architecture, e.g. `ubuntu-24.04-amd64`"
        refuse(Code.LOCK_SYSTEM, "not a valid operating system", remedy, value=request.system)
    requested = (
        request.packages,
        request.neuron,
        request.environment,
        request.requirements,
        request.wheels,
        request.files,
    )
    if not any(requested):
        remedy = "add --packages, --neuron, --environment, --requirements, --wheels or --file"
        refuse(Code.LOCK_PACKAGE, "no packages or files to pin", remedy)
    if request.neuron:
        raise_problems(check_neuron_name(request.neuron), subject="--neuron")
    if not request.asks_apt:
        return
    if not _DEBIAN.fullmatch(request.system):
        remedy = "pin each file with --file NAME VERSION URL SHA256"
        refuse(Code.LOCK_SYSTEM, "only apt packages can be resolved", remedy, value=request.system)
    if not request.sources:
        refuse(Code.LOCK_SOURCES, "no apt repository", "add a sources.list with --sources")


def _packages(request: Request, scratch: Path) -> list[LockedFile]:
    index = AptIndex(
        scratch,
        system=request.system,
        sources=request.sources,
        keyrings=request.keyrings,
        installed=request.installed,
    )
    found = [file for wanted in _sets(request) for file in index.resolve(wanted)]
    return list({(file.name, file.version): file for file in found}.values())


def _sets(request: Request) -> list[list[Wanted]]:
    """Return sets of packages that can be installed together: alternatives of a release are separate sets."""
    packages = [(name, version) for name, _, version in (package.partition("=") for package in request.packages)]
    if request.neuron is None:
        return [packages]
    release = neuron_releases()[request.neuron]
    others = [_wanted(alternative_packages(other)) for other in alternative_releases(release)]
    return [[*packages, *_wanted(host_packages(release))], *others]


def _wanted(packages: Sequence[NeuronPackage]) -> list[Wanted]:
    return [(package.name, package.version) for package in packages]


def _environment(request: Request, scratch: Path) -> list[LockedFile]:
    """Return the wheels of a Python environment, with their dependencies."""
    _check_python(request)
    stack = stack_lines(request.environment, request.neuron, request.python) if request.environment else []
    own = file_lines(request.requirements) if request.requirements else []
    resolver = Resolver(
        python=request.python,
        system=request.system,
        indexes=indexes_of(request.indexes, request.own_indexes, neuron=bool(stack)),
    )
    scratch.mkdir()
    return resolver.resolve(with_stack(stack, own), scratch)


def _check_python(request: Request) -> None:
    if not re.fullmatch(r"3\.\d+", request.python):
        refuse(Code.LOCK_WHEEL, "not a Python version", "write e.g. `--python 3.12`", value=request.python)


def _wheel(request: Request, wheel: str) -> LockedFile:
    name, equals, version = wheel.partition("==")
    if not (name and equals and version):
        refuse(Code.LOCK_WHEEL, "a wheel needs a version", "write `NAME==VERSION`", value=wheel)
    _check_python(request)
    if not request.indexes:
        refuse(Code.LOCK_WHEEL, "no package index", "add one with --index, e.g. https://pypi.org/simple")
    return find_wheel(request.indexes, name, version, python=request.python, system=request.system)


_SIDE_BY_SIDE = 4


def build(files: Iterable[LockedFile], store: Store, cache: Path | None) -> int:
    """Upload the `files` that `store` lacks; return their number. Raises `FleetError` with all problems.

    `cache`: a directory that keeps downloads, so that an interrupted run can continue; without one, only uploaded
    files are kept.
    """
    there = store.sizes()
    missing = [file for file in _once(files) if there.get(file.key) != file.size]
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        folder = cache or Path(scratch)
        work = {pool.submit(_carry, file, store, folder, keep=cache is not None): file for file in missing}
        problems: list[Problem] = []
        for number, done in enumerate(as_completed(work), start=1):
            try:
                done.result()
            except FleetError as error:
                problems.extend(error.problems)
            else:
                reported = f"{number}/{len(missing)}  {work[done]}  {work[done].size / 1e6:.1f} MB"
                print(reported, file=sys.stderr, flush=True)
    raise_problems(problems, subject="the mirror")
    return len(missing)


def check(files: Iterable[LockedFile], store: Store, *, quick: bool) -> int:
    """Verify that `store` has each of `files` as pinned; return their number. Raises `FleetError` with all others.

    `quick`: compare sizes, without reading the files.
    """
    there = store.sizes()
    wanted = _once(files)
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        found = [pool.submit(_check_build, file, store, there, quick) for file in wanted]
        problems = [problem for each in found for problem in each.result()]
    raise_problems(problems, subject="the mirror")
    return len(wanted)


def _carry(file: LockedFile, store: Store, folder: Path, *, keep: bool) -> None:
    fetched = fetch(file, folder)
    store.put(file.key, fetched)
    if not keep:
        fetched.unlink()


def _check_build(file: LockedFile, store: Store, there: Mapping[str, int], quick: bool) -> list[Problem]:
    size = there.get(file.key)
    if size is None:
        return [_problem(Code.MIRROR_STORE, file, "the file is not in the mirror", "run `llm-fleet mirror build`")]
    found = file.sha256 if quick else store.sha256(file.key)
    if size == file.size and found == file.sha256:
        return []
    what = f"it has {size} bytes instead of the pinned {file.size}" if size != file.size else f"its SHA-256 is {found}"
    remedy = "find out who changed it, remove it, and run `llm-fleet mirror build`"
    return [_problem(Code.MIRROR_CHECKSUM, file, what, remedy)]


def _problem(code: Code, file: LockedFile, message: str, remedy: str) -> Problem:
    return Problem(code=code, path=(file.key,), message=f"{file}: {message}", remedy=remedy, value=file.sha256)


def _once(files: Iterable[LockedFile]) -> list[LockedFile]:
    """Return `files` without those that have the content and name of another, e.g. of two systems."""
    return list({file.key: file for file in files}.values())
