"""Looks wheels up in package indexes, whose checksums are pinned."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from llm_fleet.cli.failure import refuse
from llm_fleet.cli.mirror.index_page import IndexedFile, read_page
from llm_fleet.cli.mirror.locked_file import LockedFile
from llm_fleet.cli.mirror.named_file import size_of
from llm_fleet.cli.mirror.wheel_tags import tags_of
from llm_fleet.rules.codes import Code
from llm_fleet.rules.training.locked import plain

if TYPE_CHECKING:
    from packaging.tags import Tag


def find_wheel(indexes: Iterable[str], name: str, version: str, *, python: str, system: str) -> LockedFile:
    """Return the wheel of `name` in exactly `version` for CPython `python` (e.g. `3.10`) on `system`.

    The first of `indexes` that has it wins, and of several wheels there the one that fits best. Raises `FleetError`.
    """
    seen: list[str] = []
    for index in indexes:
        wheels = [file for file in read_page(index, plain(name)) or () if _is_of(file, name, version)]
        seen += [file.name for file in wheels]
        best = best_wheel(wheels, name, version, python=python, system=system)
        if best:
            return locked_wheel(best, name, version, system=system)
    message = f"no index has a wheel {name} {version} with a SHA-256 for Python {python} on {system}"
    remedy = (
        f"take another version or Python; of this version there is {', '.join(seen)}" if seen else "see its spelling"
    )
    refuse(Code.LOCK_WHEEL, message, remedy, value=f"{name}=={version}")


def best_wheel(
    files: Iterable[IndexedFile], name: str, version: str, *, python: str, system: str
) -> IndexedFile | None:
    """Return the wheel of `name` in exactly `version` that fits best, of those with a checksum. Raises `FleetError`."""
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
    """Return the entry of the lock file for the wheel `file`: for any system when its name says so."""
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
