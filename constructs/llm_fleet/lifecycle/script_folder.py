"""Finds the scripts that nodes run, and reads them."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from llm_fleet.catalog.data_file import load

_FOLDER = "lifecycle_scripts"
_PACKAGE = Path(__file__).parents[1]
_CACHES = ("__pycache__",)
_CACHE_SUFFIXES = (".pyc",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptFile:
    """One file of the bundle."""

    path: str
    """Path below the folder, with `/`."""
    data: bytes
    """What is in it; empty for a link."""
    executable: bool
    """Whether its run bit is set."""
    link: bool = False
    """Whether it is a symbolic link, to a file or a folder."""


def default_folder() -> Path:
    """Return llm-fleet's own scripts: inside the package in a wheel, beside it in a checkout.

    Raises `FileNotFoundError` when neither is there, which is a broken installation.
    """
    for candidate in (_PACKAGE / _FOLDER, _PACKAGE.parent.parent / _FOLDER):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"llm-fleet's {_FOLDER} are neither in {_PACKAGE} nor beside it: install it anew")


def read_scripts(folder: Path) -> tuple[ScriptFile, ...]:
    """Return every file below `folder` in the order of their paths, but for Python's caches and hidden files.

    Left out is what hosts of services run and no node of a cluster. Raises `NotADirectoryError` when there is no such
    folder.
    """
    elsewhere = tuple(f"{name}/" for name in load("lifecycle")["services_folders"])
    return tuple(file for file in read_folder(folder) if not file.path.startswith(elsewhere))


def read_folder(folder: Path) -> tuple[ScriptFile, ...]:
    """Return every file below `folder` in the order of their paths, but for Python's caches and hidden files.

    Raises `NotADirectoryError` when there is no such folder.
    """
    if not folder.is_dir():
        raise NotADirectoryError(f"no folder of lifecycle scripts at {folder}")
    return tuple(sorted(_files(str(folder), ""), key=lambda file: file.path))


def bundle_files(scripts: Path, own: Path | None) -> tuple[ScriptFile, ...]:
    """Return the files of `scripts`, with those of `own` in a folder of theirs, in the order of their paths.

    Raises `NotADirectoryError` when either is no folder.
    """
    files = read_scripts(scripts)
    if own is None:
        return files
    below = load("lifecycle")["own_steps_folder"]
    beside = [replace(file, path=f"{below}/{file.path}") for file in read_folder(own)]
    return tuple(sorted([*files, *beside], key=lambda file: file.path))


def _files(folder: str, below: str) -> Iterator[ScriptFile]:
    """Read what is in `folder`, whose path from the first one is `below`. Links to folders are not followed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if not _wanted(entry.name):
                continue
            path = f"{below}{entry.name}"
            if entry.is_symlink():
                yield ScriptFile(path=path, data=b"", executable=False, link=True)
            elif entry.is_dir():
                yield from _files(entry.path, f"{path}/")
            else:
                yield _read(entry.path, path)


def _wanted(name: str) -> bool:
    return not name.startswith(".") and name not in _CACHES and not name.endswith(_CACHE_SUFFIXES)


def _read(file: str, path: str) -> ScriptFile:
    # Without pathlib, a third of the time: every cluster of an app reads hundreds.
    with open(file, "rb", buffering=0) as opened:
        is_executable = bool(os.fstat(opened.fileno()).st_mode & stat.S_IXUSR)
        return ScriptFile(path=path, data=opened.readall(), executable=is_executable)
