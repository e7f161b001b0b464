"""Checkpoints in S3: their layout, selection of a complete one from before a problem, and its copy."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boto3.s3.transfer import TransferConfig

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Layout of checkpoints, and how to detect a complete one."""

    folder: str | None
    """Regular expression of a checkpoint's folder with the step as group; `None`: the prefix is one checkpoint."""
    marker: str | None = None
    """File of the folder that is written last."""
    pointer: str | None = None
    """File next to the folders with the name of the folder to resume from."""

    @classmethod
    def of(cls, layout: str | Mapping[str, Any]) -> "Layout":
        """Return the layout by name, or from settings. Raises `KeyError` for an unknown name."""
        settings = _layouts()[layout] if isinstance(layout, str) else layout
        return cls(folder=settings["folder"], marker=settings.get("marker"), pointer=settings.get("pointer"))

    def step(self, folder: str) -> int | None:
        """Return the step of a checkpoint's folder, or `None` for another folder."""
        found = re.fullmatch(self.folder, folder) if self.folder else None
        return int(found.group(1)) if found else None


@cache
def _layouts() -> dict[str, dict[str, Any]]:
    return json.loads(Path(__file__).with_name("layouts.json").read_text(encoding="utf-8"))["layouts"]


LONGEST = 63
"""Maximum length of a training job's name: CreateTrainingJob's TrainingJobName."""
_DIGEST = 8
_ENDING = re.compile(r"-r\d+$")


def successor_name(root: str, restart: int) -> str:
    """Return the name of restart number `restart`, from 1, of the first job `root`.

    A long root is shortened, with a digest, so that long roots with the same prefix get different names.
    """
    ending = f"-r{restart}"
    if len(root) + len(ending) <= LONGEST:
        return root + ending
    digest = hashlib.sha256(root.encode()).hexdigest()[:_DIGEST]
    return f"{root[: LONGEST - len(ending) - _DIGEST - 1].rstrip('-')}-{digest}{ending}"


def base_of(uri: str, root: str, attempt: int) -> str:
    """Return the checkpoint URI of the first job, from the URI of restart number `attempt`.

    A restart from before a divergence has its own folder there, named after it, and later restarts use it, too.
    """
    above, _, folder = uri.rpartition("/")
    own = {successor_name(root, restart) for restart in range(1, attempt + 1)}
    return above if folder in own else uri


def is_folder_of_a_restart(folder: str) -> bool:
    """Whether a folder under a checkpoint prefix is that of a restart instead of a checkpoint."""
    return _ENDING.search(folder) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """An object under a prefix."""

    path: str
    """Its key without the prefix."""
    size: int
    """Bytes."""
    saved: float
    """When it was written, in seconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One complete checkpoint."""

    folder: str
    """Its folder under the prefix, without slashes; empty if the prefix itself is the checkpoint."""
    step: int
    """The step; 0 for a layout without steps."""
    saved: float
    """When its last object was written."""


def split_uri(uri: str) -> tuple[str, str]:
    """Return bucket and prefix of `s3://bucket/prefix`, the prefix with a slash at its end unless it is empty."""
    bucket, _, prefix = uri.partition("://")[2].partition("/")
    prefix = prefix.strip("/")
    return bucket, f"{prefix}/" if prefix else ""


def stored_files(s3: "S3Client", uri: str) -> Iterator[StoredFile]:
    """Yield all objects under a prefix, except empty ones that represent folders."""
    bucket, prefix = split_uri(uri)
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        for item in page.get("Contents", []):
            path = item.get("Key", "").removeprefix(prefix)
            if path and not path.endswith("/"):
                saved = item["LastModified"].timestamp()  # pyright: ignore[reportTypedDictNotRequiredAccess]
                yield StoredFile(path=path, size=item.get("Size", 0), saved=saved)


def files_of(files: Iterable[StoredFile], folder: str, before: float) -> list[StoredFile]:
    """Return the objects of a checkpoint; if the prefix itself is one, those written before `before`."""
    if folder:
        return [file for file in files if file.path.startswith(f"{folder}/")]
    return [file for file in files if file.saved < before and not is_folder_of_a_restart(_first(file.path))]


def choose(files: Iterable[StoredFile], layout: Layout, *, before: float) -> Checkpoint | None:
    """Return the newest checkpoint that was complete before `before`, or `None`.

    A checkpoint with an object written later is excluded: it may be from after the problem. The newest is the one that
    was written last, or the one with the highest step at the same time.
    """
    files = list(files)
    if layout.folder is None:
        own = files_of(files, "", before)
        return Checkpoint(folder="", step=0, saved=max(file.saved for file in own)) if own else None
    whole = [found for found in _whole(files, layout) if found.saved < before]
    return max(whole, key=lambda found: (found.saved, found.step), default=None)


def _whole(files: list[StoredFile], layout: Layout) -> Iterator[Checkpoint]:
    for folder in sorted({_first(file.path) for file in files if "/" in file.path}):
        step = layout.step(folder)
        own = files_of(files, folder, 0)
        if step is None or (layout.marker and f"{folder}/{layout.marker}" not in {file.path for file in own}):
            continue
        yield Checkpoint(folder=folder, step=step, saved=max(file.saved for file in own))


def _first(path: str) -> str:
    return path.partition("/")[0] if "/" in path else ""


_MIB = 1024**2
_TRANSFER = TransferConfig(multipart_threshold=512 * _MIB, multipart_chunksize=512 * _MIB, max_concurrency=8)
"""CopyObject is limited to 5 GiB; parts are copied in parallel: docs.aws.amazon.com/AmazonS3/latest/API."""


class CheckpointGone(Exception):
    """The checkpoint to copy no longer exists."""


class CheckpointCopy:
    """Copy of one checkpoint to another prefix. An object that exists with its size is complete: a copy is atomic."""

    def __init__(self, s3: "S3Client", *, source: str, target: str, layout: Layout, threads: int = 8) -> None:
        """`source` and `target`: S3 URIs of prefixes."""
        self._s3 = s3
        self._source = source
        self._target = target
        self._layout = layout
        self._threads = threads

    def run(self, folder: str, *, before: float, in_time: Callable[[], bool]) -> bool:
        """Copy missing objects while there is time; return whether all exist now.

        Raises `CheckpointGone` if the checkpoint has no objects any more, and errors of S3.
        """
        wanted = files_of(stored_files(self._s3, self._source), folder, before)
        if not wanted:
            raise CheckpointGone(f"{self._source}/{folder} has no objects any more")
        there = {file.path: file.size for file in stored_files(self._s3, self._target)}
        missing = [file for file in wanted if there.get(file.path) != file.size]
        if not self._copy_all(missing, in_time):
            return False
        self._point_at(folder)
        return True

    def _copy_all(self, files: list[StoredFile], in_time: Callable[[], bool]) -> bool:
        def copy(file: StoredFile) -> bool:
            return in_time() and self._copy(file)

        if self._threads == 1:
            return all(map(copy, files))
        with ThreadPoolExecutor(self._threads) as pool:
            return all(list(pool.map(copy, files)))

    def _copy(self, file: StoredFile) -> bool:
        from_bucket, from_prefix = split_uri(self._source)
        to_bucket, to_prefix = split_uri(self._target)
        source = {"Bucket": from_bucket, "Key": from_prefix + file.path}
        self._s3.copy(source, to_bucket, to_prefix + file.path, Config=_TRANSFER)  # pyright: ignore[reportArgumentType]
        return True

    def _point_at(self, folder: str) -> None:
        if self._layout.pointer and folder:
            bucket, prefix = split_uri(self._target)
            self._s3.put_object(Bucket=bucket, Key=prefix + self._layout.pointer, Body=folder.encode())
