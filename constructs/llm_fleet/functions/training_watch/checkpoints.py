"""Which checkpoints are whole, and which is the one before things went wrong."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .layouts import Layout
from .successor_name import is_folder_of_a_restart

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


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
