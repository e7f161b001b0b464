"""Files for nodes: the node scripts, the user's own scripts, and the archive of both."""

import base64
import bz2
import hashlib
import io
import json
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from llm_fleet.catalog.data_file import load
from llm_fleet.rules.bundle import ScriptFile
from llm_fleet.rules.problem import is_unresolved

_FOLDER = "lifecycle_scripts"
_PACKAGE = Path(__file__).parents[1]
_CACHES = ("__pycache__",)
_CACHE_SUFFIXES = (".pyc",)


def default_folder() -> Path:
    """Return llm-fleet's own scripts: inside the package in a wheel, next to it in a checkout.

    Raises `FileNotFoundError` when neither exists: the installation is broken.
    """
    for candidate in (_PACKAGE / _FOLDER, _PACKAGE.parent.parent / _FOLDER):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"llm-fleet's {_FOLDER} are neither in {_PACKAGE} nor next to it: install llm-fleet again")


def read_scripts(folder: Path) -> tuple[ScriptFile, ...]:
    """Return every file below `folder` sorted by path, without Python's caches, hidden files, and files that only hosts
    of services run.

    Raises `NotADirectoryError` when there is no such folder.
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
    """Return the files of `scripts`, and those of `own` in a separate folder, sorted by path.

    Raises `NotADirectoryError` when one of them is not a folder.
    """
    files = read_scripts(scripts)
    if own is None:
        return files
    below = load("lifecycle")["own_steps_folder"]
    next_to = [replace(file, path=f"{below}/{file.path}") for file in read_folder(own)]
    return tuple(sorted([*files, *next_to], key=lambda file: file.path))


def _files(folder: str, below: str) -> Iterator[ScriptFile]:
    """Read `folder`, whose path from the first one is `below`. Links to folders are not followed."""
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
    # Without pathlib, which would take three times as long: every cluster of an app reads hundreds of files.
    with open(file, "rb", buffering=0) as opened:
        is_executable = bool(os.fstat(opened.fileno()).st_mode & stat.S_IXUSR)
        return ScriptFile(path=path, data=opened.readall(), executable=is_executable)


_PLACEHOLDER = "(known when deployed)"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def checksums(files: Sequence[ScriptFile]) -> str:
    """Return the list of `files` with their SHA-256, in the format of `sha256sum`, sorted by path."""
    in_order = sorted(files, key=lambda file: file.path)
    return "".join(f"{hashlib.sha256(file.data).hexdigest()}  {file.path}\n" for file in in_order)


def sha256(text: str) -> str:
    """Return the SHA-256 of `text` in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def content_hash(files: Sequence[ScriptFile], manifest: dict[str, Any]) -> str:
    """Return the hash in the name of a bundle: paths, modes and bytes of `files`, and all of `manifest` that is known
    at synth.

    A value that is resolved at deployment counts as present, whatever its value.
    """
    contents = {
        "scripts": checksums(files),
        "executable": sorted(file.path for file in files if file.executable),
        "manifest": _without_tokens(manifest),
    }
    return sha256(json.dumps(contents, sort_keys=True))


def write_zip(files: Sequence[ScriptFile], to: Path, *, below: str = "") -> None:
    """Write `files` to the archive `to`, in the folder `below`, with fixed times and modes."""
    to.write_bytes(_zip(tuple(files), below))


@lru_cache(maxsize=16)
def _zip(files: tuple[ScriptFile, ...], below: str) -> bytes:
    """Return the archive of `files`; cached, because clusters and functions of an app use the same few archives."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            entry = zipfile.ZipInfo(f"{below}{file.path}", _EPOCH)
            entry.external_attr = (0o100755 if file.executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.data)
    return written.getvalue()


def _without_tokens(value: Any) -> Any:
    """Return `value` with a placeholder for each token, because the text of a token differs between two runs of
    synth."""
    if isinstance(value, dict):
        return {key: _without_tokens(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_without_tokens(item) for item in cast("list[Any]", value)]
    return _PLACEHOLDER if is_unresolved(value) else value


_COLUMNS = 76
_RUN = 0o755
_READ = 0o644


def packed(
    files: Mapping[str, bytes],
    *,
    executable: frozenset[str] = frozenset(),
    encode: Callable[[bytes], bytes] = base64.b64encode,
) -> str:
    """Return `files`, by their paths, as a tar archive, compressed with bzip2, in lines of base64.

    `executable`: paths with executable bits. `encode`: `base64.b85encode` where size matters; a shell cannot decode it.
    The bytes are the same on every machine: another text would change the template, and replace the resources that run
    it. The output of Python's zlib differs between machines, that of bzip2 does not.
    """
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            entry.mode = _RUN if path in executable else _READ
            archive.addfile(entry, io.BytesIO(data))
    text = encode(bz2.compress(held.getvalue())).decode()
    return "\n".join(text[start : start + _COLUMNS] for start in range(0, len(text), _COLUMNS))
