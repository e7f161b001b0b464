"""The batch files and the training program of this bundle, on storage that all nodes share.

A version is in a folder that is named by its content hash, and never changes: a running job continues with the files it
started with, also when the fleet is deployed again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from pathlib import Path
from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.node import Node
from llm_fleet_node.training import shared_files
from llm_fleet_node.training.layout import JOBS, PROGRAM, Layout
from llm_fleet_node.training.of_group import training_of
from llm_fleet_node.training.shared_lock import Held

MARKER = ".llm-fleet.json"
"""Written last, with the time of the version, by which the newest version is found."""
CURRENT = "current"
_CACHES = ("__pycache__",)
_DIGITS = 12

Files = dict[str, bytes]
"""The content of each file, by its path below the version's folder."""


def read(bundle: Path) -> Files:
    """Return the two folders of the `bundle`. Raises `Failure` if one is missing or empty."""
    found: Files = {}
    for name in (JOBS, PROGRAM):
        paths = sorted(path for path in (bundle / name).rglob("*") if path.is_file())
        files = {path.relative_to(bundle).as_posix(): path for path in paths if not {*path.parts} & {*_CACHES}}
        if not files:
            fail(Code.TRAINING_PROGRAMS, f"the bundle in {bundle} has no {name}/, which jobs require", final=True)
        found |= {path: place.read_bytes() for path, place in files.items()}
    return found


def fingerprint(files: Files) -> str:
    """Return the name of the version that consists of `files`."""
    lines = (f"{hashlib.sha256(data).hexdigest()}  {path}\n" for path, data in sorted(files.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:_DIGITS]


def of_node(node: Node) -> str:
    """Return the name of the version in this node's bundle."""
    return fingerprint(read(node.places.bundle))


def problem(folder: Path, files: Files) -> Optional[str]:
    """Return why `folder` does not have exactly these `files`; `None` if it has."""
    if shared_files.read_document(folder / MARKER) is None:
        return f"{folder} is incomplete"
    for path, data in files.items():
        try:
            if (folder / path).read_bytes() != data:
                return f"{folder / path} does not match this bundle"
        except OSError as error:
            return f"{folder / path}: {error.strerror}"
    return None


def put(node: Node, held: Held, files: Files) -> None:
    """Make the version's folder in a temporary folder and rename it; an incomplete one is repaired file by file."""
    version = node.host.path(Layout(training_of(node).folder).program(fingerprint(files)))
    held.doing(f"copying {len(files)} files")
    _remove_asides(version)
    if not version.exists():
        aside = version.with_name(f".{version.name}.{shared_files.unique()}")
        _fill(aside, files)
        node.host.changes.append(f"copied the programs of jobs to {aside}")
        held.check()
        os.rename(aside, version)
    else:
        _fill(version, files)
    node.host.changes.append(f"put the programs of jobs into {version}")


def put_current(node: Node) -> None:
    """Link `current` to the newest version."""
    folder = node.host.path(Layout(training_of(node).folder).programs)
    newest = _newest(folder)
    place = folder / CURRENT
    if newest and not (place.is_symlink() and os.readlink(place) == newest):
        shared_files.link(place, newest)
        node.host.changes.append(f"linked {place} to {newest}")


def _remove_asides(version: Path) -> None:
    """Remove leftovers of killed copies: only the holder of the lock makes such folders."""
    for place in version.parent.glob(f".{version.name}.*"):
        shutil.rmtree(place, ignore_errors=True)


def _newest(folder: Path) -> str:
    made: list[tuple[float, str]] = []
    for place in folder.iterdir():
        document = shared_files.read_document(place / MARKER) if not place.name.startswith(".") else None
        if document is not None and not place.is_symlink():
            made.append((float(document.get("made", 0.0)), place.name))
    return max(made, default=(0.0, ""))[1]


def _fill(folder: Path, files: Files) -> None:
    for path, data in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.is_file() or place.read_bytes() != data:
            shared_files.put(place, data, 0o755 if data.startswith(b"#!") else 0o644)
    if shared_files.read_document(folder / MARKER) is None:
        shared_files.put(folder / MARKER, b'{"made": %.3f}\n' % time.time())
