"""Wheels of a mirror: requirements, resolution with `uv`, and compatibility with nodes by `packaging`."""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.neuron import neuron_releases
from llm_fleet.catalog.training_environments import neuron_index, pythons_of, training_stacks, vendor_packages
from llm_fleet.cli.mirror.index_pages import IndexedFile, Indexes, OneIndex, read_page, serve_one_index, size_of
from llm_fleet.cli.mirror.locked_file import LockedFile
from llm_fleet.cli.verb import refuse
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.training.packages import plain
from llm_fleet.rules.values import did_you_mean

if TYPE_CHECKING:
    from packaging.tags import Tag


_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
"""Architectures in names of wheels, by Debian's names."""
_LEGACY = {5: "manylinux1", 12: "manylinux2010", 17: "manylinux2014"}
"""Minor version of glibc 2.x by system."""


def platforms_of(system: str) -> list[str]:
    """Return the platform tags for `system`, the best first. Raises `FleetError` for an unknown system."""
    name = system.rpartition("-")[0]
    glibc: str | None = load("downloads")["glibc"].get(name)
    if glibc is None:
        known = ", ".join(load("downloads")["glibc"])
        refuse(Code.LOCK_SYSTEM, "unknown C library of this system", f"choose one of {known}", value=system)
    machine = machine_of(system)
    found: list[str] = []
    for minor in range(int(glibc.split(".")[1]), 4, -1):
        found.append(f"manylinux_2_{minor}_{machine}")
        if minor in _LEGACY:
            found.append(f"{_LEGACY[minor]}_{machine}")
    return [*found, f"linux_{machine}"]


def machine_of(system: str) -> str:
    """Return the processor architecture of `system`, e.g. `ubuntu-22.04-amd64`, as Python names it."""
    machine = system.rpartition("-")[2]
    return _MACHINES.get(machine, machine)


def tags_of(python: str, system: str) -> "list[Tag]":
    """Return the wheel tags for CPython `python` on `system`, the best first. Raises `FleetError`."""
    try:
        from packaging.tags import compatible_tags, cpython_tags
    except ImportError:
        remedy = "run `pip install 'llm-fleet[mirror]'`, or `pip install packaging`"
        refuse(Code.LOCK_WHEEL, "wheels require `packaging`, which is not installed", remedy)
    major, minor = (int(part) for part in python.split(".")[:2])
    platforms = platforms_of(system)
    return [
        *cpython_tags(python_version=(major, minor), platforms=platforms),
        *compatible_tags(python_version=(major, minor), interpreter=f"cp{major}{minor}", platforms=platforms),
    ]


PYPI = "https://pypi.org/simple"
_SHA256 = re.compile(r"#sha256=[0-9a-f]{64}$")


def stack_lines(stack: str, release: str | None, python: str) -> list[str]:
    """Return the pins of `stack` in `release`, as requirements. Raises `FleetError`."""
    known = training_stacks().get(stack)
    if known is None:
        remedy = did_you_mean(stack, training_stacks(), otherwise=f"choose one of {', '.join(training_stacks())}")
        refuse(Code.TRAINING_STACK, "unknown stack of Neuron packages", remedy, value=stack)
    releases = [each.name for each in known.releases()]
    if release not in releases:
        remedy = f"choose one of {', '.join(releases)}"
        refuse(Code.TRAINING_STACK_RELEASE, f"this release has no {stack}", remedy, value=release)
    if python not in pythons_of(release):
        remedy = f"choose one of {', '.join(pythons_of(release))}"
        refuse(Code.TRAINING_PYTHON, f"Neuron {release} does not support this Python version", remedy, value=python)
    return [f"{name}=={version}" for name, version in known.pins(neuron_releases()[release]).items()]


def file_lines(path: Path) -> list[str]:
    """Return the requirements in the file at `path`. Raises `FleetError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        refuse(Code.LOCK_WHEEL, f"cannot read the requirements: {reason}", "choose another file", subject=str(path))
    lines = [re.sub(r"(^|\s)#.*$", "", line).strip() for line in text.splitlines()]
    found = [line for line in lines if line]
    for line in found:
        if line.startswith("-"):
            remedy = "write one requirement per line, and set indexes with --index and --index-of"
            refuse(
                Code.LOCK_WHEEL,
                "options are not allowed in the requirements: they could add any index",
                remedy,
                value=line,
            )
        if "://" in line and not _SHA256.search(line):
            remedy = "write `name @ https://…#sha256=…`, with the checksum of its vendor"
            refuse(Code.LOCK_WHEEL, "a URL needs a checksum", remedy, value=line)
    return found


def with_stack(stack: Sequence[str], own: Sequence[str]) -> list[str]:
    """Return the pins of a stack, except for packages that the user's requirements pin."""
    reported = {plain(re.split(r"[\s\[=<>!~;@]", line, maxsplit=1)[0]) for line in own}
    return [*(line for line in stack if plain(line.partition("==")[0]) not in reported), *own]


def indexes_of(indexes: Sequence[str], own: Sequence[Sequence[str]], *, neuron: bool) -> Indexes:
    """Return the index of each package: Neuron's for its packages, `own` ones for theirs, else `indexes`.

    `neuron`: whether Neuron packages are requested.
    """
    vendor = dict.fromkeys(vendor_packages(), neuron_index()) if neuron else {}
    return Indexes(own={**vendor, **{plain(name): url for name, url in own}}, others=tuple(indexes) or (PYPI,))


def find_wheel(indexes: Iterable[str], name: str, version: str, *, python: str, system: str) -> LockedFile:
    """Return the wheel of `name` in exactly `version` for CPython `python` (e.g. `3.10`) on `system`.

    The first of `indexes` that has it is used, and its best matching wheel. Raises `FleetError`.
    """
    seen: list[str] = []
    for index in indexes:
        wheels = [file for file in read_page(index, plain(name)) or () if _is_of(file, name, version)]
        seen += [file.name for file in wheels]
        best = best_wheel(wheels, name, version, python=python, system=system)
        if best:
            return locked_wheel(best, name, version, system=system)
    message = f"no index has a wheel {name} {version} with a SHA-256 for Python {python} on {system}"
    remedy = f"choose another version or Python; this version has {', '.join(seen)}" if seen else "check its spelling"
    refuse(Code.LOCK_WHEEL, message, remedy, value=f"{name}=={version}")


def best_wheel(
    files: Iterable[IndexedFile], name: str, version: str, *, python: str, system: str
) -> IndexedFile | None:
    """Return the best matching wheel of `name` in exactly `version` with a checksum. Raises `FleetError`."""
    ranks = {tag: rank for rank, tag in enumerate(tags_of(python, system))}
    fitting = [
        (min(ranks[tag] for tag in tags), file)
        for file in files
        if file.sha256 and _is_of(file, name, version) and (tags := _tags(file) & ranks.keys())
    ]
    return min(fitting, key=lambda each: each[0])[1] if fitting else None


def locked_wheel(
    file: IndexedFile, name: str, version: str, *, system: str, requires: Iterable[str] = ()
) -> LockedFile:
    """Return the entry of the lock file for the wheel `file`: for any system if its tags allow that."""
    universal = file.name.endswith("-any.whl")
    return LockedFile(
        name=name,
        version=version,
        kind="wheel",
        system=None if universal else system,
        url=file.url,
        sha256=file.sha256,
        size=file.size or size_of(file.url),
        requires=tuple(requires),
    )


def _is_of(file: IndexedFile, name: str, version: str) -> bool:
    parts = file.name.removesuffix(".whl").split("-")
    return file.name.endswith(".whl") and len(parts) >= 5 and plain(parts[0]) == plain(name) and parts[1] == version


def _tags(file: IndexedFile) -> "frozenset[Tag]":
    from packaging.tags import parse_tag

    return frozenset(parse_tag("-".join(file.name.removesuffix(".whl").split("-")[-3:])))


_SECONDS = 1800
_KEPT = ("UV_HTTP_TIMEOUT", "UV_HTTP_RETRIES")
"""Environment variables of proxies and certificates."""
_GLIBC = (17, 28, *range(31, 41))
"""Minor versions of glibc 2.x that uv supports: see `uv pip compile --help`, `--python-platform`."""
_SIDE_BY_SIDE = 8
_PIN = re.compile(r"(?P<name>[\w.-]+)(==(?P<version>\S+)| @ (?P<url>\S+))\s+# via (?P<via>.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """Resolves for CPython `python`, e.g. `3.11`, on `system`, e.g. `ubuntu-24.04-amd64`."""

    python: str
    system: str
    indexes: Indexes

    def resolve(self, requirements: Sequence[str], scratch: Path) -> list[LockedFile]:
        """Return the resolved wheels of `requirements`. `scratch`: an empty directory. Raises `FleetError`."""
        requested = scratch / "requirements.txt"
        requested.write_text("".join(f"{line}\n" for line in requirements), encoding="utf-8")
        with serve_one_index(self.indexes) as index:
            done = _run(self._command(index, requested))
            if done.returncode:
                self._refuse(index, done.stderr, requirements)
            return self._locked(done.stdout, index)

    def _locked(self, resolved: str, index: OneIndex) -> list[LockedFile]:
        """Return the files of uv's output, each with its dependents."""
        pins = [match for line in resolved.splitlines() if (match := _PIN.match(line))]
        needs: dict[str, list[str]] = {plain(pin["name"]): [] for pin in pins}
        for pin in pins:
            for other in pin["via"].split(", "):
                if other in needs:
                    needs[other].append(plain(pin["name"]))

        def lock(pin: re.Match[str]) -> LockedFile:
            return self._lock(pin, index, needs[plain(pin["name"])])

        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            return list(pool.map(lock, pins))

    def _lock(self, pin: re.Match[str], index: OneIndex, requires: Sequence[str]) -> LockedFile:
        name, version = plain(pin["name"]), pin["version"]
        if pin["url"]:
            url, _, sha256 = pin["url"].partition("#sha256=")
            file = IndexedFile(url=url, sha256=sha256)
            version = file.name.split("-")[1]
        else:
            file = best_wheel(index.wheels[name], name, version, python=self.python, system=self.system)
            assert file, f"uv has chosen {name} {version} by a wheel that the index named"
        return locked_wheel(file, name, version, system=self.system, requires=requires)

    def _command(self, index: OneIndex, requested: Path) -> list[str]:
        newest = int(platforms_of(self.system)[0].split("_")[2])
        platform = f"{machine_of(self.system)}-manylinux_2_{max(minor for minor in _GLIBC if minor <= newest)}"
        return [
            *(_uv(), "pip", "compile", "--quiet", "--color", "never", "--no-config", "--no-cache", "--system-certs"),
            *("--python", sys.executable, "--no-python-downloads", "--no-header", "--annotation-style", "line"),
            *("--default-index", index.url, "--only-binary", ":all:"),
            *("--python-version", self.python, "--python-platform", platform, str(requested)),
        ]

    def _refuse(self, index: OneIndex, said: str, requirements: Sequence[str]) -> None:
        if index.failures:
            raise FleetError([problem for error in index.failures[:3] for problem in error.problems])
        # The message has a few lines with headings; the hint after them is about options of uv.
        lines = said.partition("\nhint:")[0].split()
        reason = " ".join(lines).replace("No solution found when resolving dependencies cause: ", "")
        remedy = "choose compatible versions with wheels, or add the index with the missing packages"
        said = reason.removeprefix("error: ")
        message = f"cannot resolve the requirements for Python {self.python} on {self.system}: {said}"
        refuse(Code.LOCK_WHEEL, message, remedy, value=", ".join(requirements))


def _uv() -> str:
    try:
        from uv import find_uv_bin

        return find_uv_bin()
    except (ImportError, FileNotFoundError):
        message = "resolving packages requires `uv`, which is not installed in this environment"
        refuse(Code.LOCK_WHEEL, message, "run `pip install 'llm-fleet[mirror]'`")


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    # Without this machine's settings, which could add an index or a directory of wheels.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("UV_") or name in _KEPT}
    # The local index is on this machine, so no proxy is used for it.
    unproxied = ",".join(filter(None, (kept.get("NO_PROXY", kept.get("no_proxy", "")), "127.0.0.1")))
    environment = {**kept, "NO_PROXY": unproxied, "no_proxy": unproxied}
    try:
        return subprocess.run(  # noqa: S603 - a list, without a shell
            command, check=False, capture_output=True, text=True, timeout=_SECONDS, env=environment
        )
    except OSError as error:
        refuse(Code.LOCK_WHEEL, f"cannot run {command[0]}: {error.strerror}", "install `uv` again")
    except subprocess.TimeoutExpired:
        refuse(
            Code.LOCK_WHEEL, f"uv did not end within {_SECONDS} s", "check that this machine can connect to each index"
        )
