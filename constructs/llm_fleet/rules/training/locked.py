"""What an environment needs of the lock file: its packages, with all that they need in turn."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
    asked = {plain(each.name): each for each in wanted}
    chosen: dict[str, list[File]] = {}
    missing: list[Wanted] = []
    ambiguous: dict[str, tuple[str, ...]] = {}
    ahead = list(asked)
    while ahead:
        name = ahead.pop(0)
        if name in chosen:
            continue
        want = asked.get(name, Wanted(name=name))
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
