"""Checkpoints in S3: how they are laid out, which is whole and from before things went wrong, and its copy."""

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
    """Where a checkpoint is, and what tells that it is whole."""

    folder: str | None
    """Regular expression of a checkpoint's folder with its step as the group; none: the prefix is one checkpoint."""
    marker: str | None = None
    """File of the folder that is written last."""
    pointer: str | None = None
    """File beside the folders that holds the name of the one to go on from."""

    @classmethod
    def of(cls, reported: str | Mapping[str, Any]) -> "Layout":
        """Return the layout of that name, or of these words; raises `KeyError` for a name that is unknown."""
        words = _layouts()[reported] if isinstance(reported, str) else reported
        return cls(folder=words["folder"], marker=words.get("marker"), pointer=words.get("pointer"))

    def step(self, folder: str) -> int | None:
        """Return the step of a checkpoint's folder, or nothing when it is none."""
        found = re.fullmatch(self.folder, folder) if self.folder else None
        return int(found.group(1)) if found else None


@cache
def _layouts() -> dict[str, dict[str, Any]]:
    return json.loads(Path(__file__).with_name("layouts.json").read_text(encoding="utf-8"))["layouts"]


LONGEST = 63
"""Of a training job's name: CreateTrainingJob's TrainingJobName."""
_DIGEST = 8
_ENDING = re.compile(r"-r\d+$")


def successor_name(root: str, restart: int) -> str:
    """Return the name of restart number `restart`, from 1, of the line that began with the job `root`.

    A root that leaves no room is shortened, with a digest of it: two long roots of one beginning stay apart.
    """
    ending = f"-r{restart}"
    if len(root) + len(ending) <= LONGEST:
        return root + ending
    digest = hashlib.sha256(root.encode()).hexdigest()[:_DIGEST]
    return f"{root[: LONGEST - len(ending) - _DIGEST - 1].rstrip('-')}-{digest}{ending}"


def base_of(uri: str, root: str, attempt: int) -> str:
    """Return where the first job of a line kept its checkpoints, by where restart number `attempt` keeps its own.

    A restart from before a divergence has a folder of its own there, by its name, and those after it share it.
    """
    above, _, folder = uri.rpartition("/")
    own = {successor_name(root, restart) for restart in range(1, attempt + 1)}
    return above if folder in own else uri


def is_folder_of_a_restart(folder: str) -> bool:
    """Whether a folder below a checkpoint prefix is what a restart was given, and no checkpoint of the job's own."""
    return _ENDING.search(folder) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """An object below a prefix."""

    path: str
    """Its key without the prefix."""
    size: int
    """Bytes."""
    saved: float
    """When it was written, in seconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One checkpoint that is whole."""

    folder: str
    """Its folder below the prefix, without slashes; empty when the prefix itself is the checkpoint."""
    step: int
    """0 where the layout tells none."""
    saved: float
    """When its last object was written."""


def split_uri(uri: str) -> tuple[str, str]:
    """Return bucket and prefix of `s3://bucket/prefix`, the prefix with a slash at its end unless it is empty."""
    bucket, _, prefix = uri.partition("://")[2].partition("/")
    prefix = prefix.strip("/")
    return bucket, f"{prefix}/" if prefix else ""


def stored_files(s3: "S3Client", uri: str) -> Iterator[StoredFile]:
    """Yield every object below a prefix, but for the empty ones that stand for folders."""
    bucket, prefix = split_uri(uri)
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        for item in page.get("Contents", []):
            path = item.get("Key", "").removeprefix(prefix)
            if path and not path.endswith("/"):
                saved = item["LastModified"].timestamp()  # pyright: ignore[reportTypedDictNotRequiredAccess]
                yield StoredFile(path=path, size=item.get("Size", 0), saved=saved)


def files_of(files: Iterable[StoredFile], folder: str, before: float) -> list[StoredFile]:
    """Return the objects of a checkpoint; of a prefix that is one itself, those written before `before`."""
    if folder:
        return [file for file in files if file.path.startswith(f"{folder}/")]
    return [file for file in files if file.saved < before and not is_folder_of_a_restart(_first(file.path))]


def choose(files: Iterable[StoredFile], layout: Layout, *, before: float) -> Checkpoint | None:
    """Return the newest checkpoint that was whole before `before`, or nothing when there is none.

    A checkpoint with any object written later is none: it may hold what went wrong. Between two, the one that was
    written later is the newer, and the higher step where that is the same.
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
"""CopyObject takes 5 GiB at most, and parts are copied side by side: docs.aws.amazon.com/AmazonS3/latest/API."""


class CheckpointGone(Exception):
    """What was to be copied is not there any more."""


class CheckpointCopy:
    """One checkpoint on its way to another prefix. An object that is there with its size is done: a copy is atomic."""

    def __init__(self, s3: "S3Client", *, source: str, target: str, layout: Layout, threads: int = 8) -> None:
        """`source` and `target`: S3 URIs of prefixes."""
        self._s3 = s3
        self._source = source
        self._target = target
        self._layout = layout
        self._threads = threads

    def run(self, folder: str, *, before: float, in_time: Callable[[], bool]) -> bool:
        """Copy what is missing while there is time; returns whether all is there now.

        Raises `CheckpointGone` when nothing is left of it, and what S3 answers when it refuses.
        """
        wanted = files_of(stored_files(self._s3, self._source), folder, before)
        if not wanted:
            raise CheckpointGone(f"{self._source}/{folder} holds nothing any more")
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
