"""Copies a checkpoint to the place of the job that goes on from it, within S3, and goes on where it was cut off."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from boto3.s3.transfer import TransferConfig

from .checkpoints import StoredFile, files_of, split_uri, stored_files
from .layouts import Layout

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

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
