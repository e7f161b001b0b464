"""Downloads files that a node lacks: only files pinned in `fleet.json`, only from its source, and verified."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from llm_fleet_node.downloading.file_name import file_name
from llm_fleet_node.downloading.system import system_of
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed
from llm_fleet_node.manifest_parts import Download
from llm_fleet_node.node import Node

CACHE = "/var/cache/llm-fleet/downloads"
"""Verified files by their checksums; a file that is still downloading has another name."""
_SIDE_BY_SIDE = 4
"""Number of parallel downloads."""
_MANY = 5
"""Minimum number of files for one common call of the AWS CLI."""
_ARRIVING = ".arriving-"
"""Prefix of the downloading process's id, to recognize leftover folders."""
_ROOM = 1.05
"""Factor for the disk space that a file needs."""


def fetch(node: Node, name: str, *, version: str = "") -> Path:
    """Return the path of the verified file `name` of the manifest's downloads; download it if it is missing.

    `version` can be omitted if the manifest has only one version of the file. Raises `Failure`.
    """
    return fetch_files(node, [find(node, name, version=version)])[0]


def find(node: Node, name: str, *, version: str = "") -> Download:
    """Return the pinned file `name` for this node's system. Raises `Failure` if there is none or more than one."""
    named = [file for file in node.manifest.downloads.files if file.name == name]
    system = system_of(node.host)
    fitting = [file for file in named if file.system in (None, system) and is_version(file.version, version)]
    if len(fitting) == 1:
        return fitting[0]
    requested = f"{name} {version}".strip()
    if fitting:
        fail(Code.NOT_PINNED, f"{requested} is pinned in several versions: {_reported(fitting)}", final=True)
    if node.manifest.downloads.source == "none":
        fail(Code.PACKAGE_MISSING, f"{requested} is not on this node, and downloads are off in this fleet", final=True)
    others = f"; pinned are {_reported(named)}" if named else ""
    fail(Code.NOT_PINNED, f"{requested} is not pinned for {system}{others}", final=True)


def fetch_files(node: Node, files: Sequence[Download]) -> list[Path]:
    """Return the paths of the verified `files`; download the missing ones, in parallel."""
    places = {file.sha256: node.host.path(f"{CACHE}/{file.sha256}/{file_name(file)}") for file in files}
    missing = [file for file in files if not _is_whole(places[file.sha256], file)]
    if missing:
        _check_source(node, missing)
        _check_room(node, missing)
        if node.manifest.downloads.source == "mirror" and len(missing) >= _MANY:
            missing = _fetch_together(node, missing, places)
        _fetch_missing(node, missing, places)
    return [places[file.sha256] for file in files]


def is_version(found: str, wanted: str) -> bool:
    """Return whether the version `found` is the `wanted` one; a wanted `2.30.51.0` is also `2.30.51.0-6a1f2c3d4`.

    Vendors list versions without the last part, which the package has. An empty `wanted` matches any version.
    """
    upstream = found.split(":", 1)[-1]
    return not wanted or wanted in (found, upstream) or upstream.startswith((f"{wanted}-", f"{wanted}_"))


def _fetch_together(node: Node, missing: Sequence[Download], places: dict[str, Path]) -> list[Download]:
    """Download the files with one call, keep those that match their pins, and return the others: each of them is then
    downloaded alone, with its own error."""
    from llm_fleet_node.downloading import mirror

    cache = node.host.path(CACHE)
    for left in cache.glob(f"{_ARRIVING}*"):
        if not os.path.exists(f"/proc/{left.name[len(_ARRIVING) :]}"):
            shutil.rmtree(left, ignore_errors=True)
    arriving = cache / f"{_ARRIVING}{os.getpid()}"
    arriving.mkdir(exist_ok=True)
    try:
        mirror.fetch_together(node, missing, arriving)
    except CommandFailed as error:
        node.say(f"downloading {len(missing)} files in one call failed; downloading them one by one: {error.cause}")
    others: list[Download] = []
    for file in missing:
        arrived = arriving / file.sha256 / file_name(file)
        if _is_whole(arrived, file):
            places[file.sha256].parent.mkdir(parents=True, exist_ok=True)
            _keep(node, file, arrived, places[file.sha256], "the mirror")
        else:
            others.append(file)
    shutil.rmtree(arriving, ignore_errors=True)
    return others


def _keep(node: Node, file: Download, part: Path, place: Path, source: str) -> None:
    """Rename the verified `part` to its final name, and log it."""
    with open(part, "rb+") as whole:
        os.fsync(whole.fileno())
    os.replace(part, place)
    node.host.changes.append(f"downloaded {file.name} {file.version}")
    node.say(f"downloaded {file.name} {file.version} ({file.size} bytes) from {source}")


def _fetch_missing(node: Node, missing: Sequence[Download], places: dict[str, Path]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    for file in missing:
        places[file.sha256].parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        waiting = [pool.submit(_fetch_one, node, file, places[file.sha256]) for file in missing]
        try:
            for done in waiting:
                done.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _fetch_one(node: Node, file: Download, place: Path) -> None:
    from llm_fleet_node.downloading import mirror, vendor

    part = place.with_name(f".{place.name}.part")
    fetch_part = mirror.fetch if node.manifest.downloads.source == "mirror" else vendor.fetch
    source = fetch_part(node, file, part)
    found = _digest(part)
    if found != file.sha256:
        size = part.stat().st_size
        part.unlink()
        fail(
            Code.DOWNLOAD_CHECKSUM,
            f"{source} has {size} bytes with SHA-256 {found}, but {file.size} bytes with {file.sha256} are pinned",
        )
    _keep(node, file, part, place, source)


def _check_source(node: Node, missing: Sequence[Download]) -> None:
    if node.manifest.downloads.source == "none":
        names = ", ".join(f"{file.name} {file.version}" for file in missing)
        fail(Code.PACKAGE_MISSING, f"{names}: not on this node, and downloads are off in this fleet", final=True)


def _check_room(node: Node, missing: Sequence[Download]) -> None:
    folder = node.host.path(CACHE)
    folder.mkdir(parents=True, exist_ok=True)
    needed, free = int(sum(file.size for file in missing) * _ROOM), shutil.disk_usage(folder).free
    if free < needed:
        fail(Code.DISK_FULL, f"{CACHE} has {free} bytes free, but {len(missing)} files to download need {needed}")


def _is_whole(place: Path, file: Download) -> bool:
    """Return whether the file `place` matches its pin: checked each time, because it may have been changed."""
    try:
        return place.stat().st_size == file.size and _digest(place) == file.sha256
    except FileNotFoundError:
        return False


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def _reported(files: Sequence[Download]) -> str:
    return ", ".join(f"{file.version} for {file.system or 'any system'}" for file in files)
