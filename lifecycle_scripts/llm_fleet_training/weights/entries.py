"""The files of a model at its source, and the selection of files to download."""

from __future__ import annotations

import fnmatch
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, List, Optional, Sequence

from llm_fleet_training.failures import Code, fail

_WEIGHTS = ("*.safetensors",)
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
_SMALL = (
    "*.json",
    "tokenizer.model",
    "*.model",
    "merges.txt",
    "vocab.txt",
    "*.jinja",
    "LICENSE*",
    "NOTICE*",
    "USE_POLICY*",
)
_TWICE = ("consolidated*",)
"""Copies of the weights in the format of the authors' code."""
_NOT_MODELS = ("training_args.bin", "optimizer.*", "scheduler.*", "rng_state*")
_CHUNK = 8 * 1024**2


@dataclass(frozen=True)
class Entry:
    """One file; `size` in bytes. The source has one of the two hashes, or none."""

    path: str
    size: int
    sha256: Optional[str] = None
    git_sha1: Optional[str] = None
    """The id of a git blob: a hash of its size and bytes."""


def is_pickle(name: str) -> bool:
    """Whether a file has a format that can run code when it is read."""
    return _is(name, _PICKLES)


def is_small(name: str) -> bool:
    """Whether a file belongs to any model: config, tokenizer, license."""
    return _is(name, _SMALL) and not name.endswith(".index.json")


def choose(entries: Sequence[Entry], place: str, *, weights: bool, pickles: bool) -> List[Entry]:
    """Select only weights, config, tokenizer and license; LFJ34 when these are not a model.

    Folders below are left out: they hold the same weights in other forms (`original/` of Llama's).
    """
    top = [entry for entry in entries if "/" not in entry.path and not _is(entry.path, _NOT_MODELS)]
    small = [entry for entry in top if _is(entry.path, _SMALL)]
    if not any(entry.path == "config.json" for entry in small):
        fail(Code.MODEL_FORMAT, f"{place} has no config.json: {_some(entries)}")
    if not weights:
        return [entry for entry in small if is_small(entry.path)]
    safe = [entry for entry in top if _is(entry.path, _WEIGHTS) and not _is(entry.path, _TWICE)]
    if safe:
        return safe + [entry for entry in small if not entry.path.endswith(".bin.index.json")]
    older = [entry for entry in top if is_pickle(entry.path) and not _is(entry.path, _TWICE)]
    if older and not pickles:
        fail(
            Code.MODEL_FORMAT,
            f"{place} has weights only as pickle files ({_some(older)}), which can run code when read",
        )
    if not older:
        fail(Code.MODEL_FORMAT, f"{place} has no weights: {_some(entries)}")
    return older + small


def check_file(place: Path, entry: Entry) -> Optional[str]:
    """The error of a downloaded file, or None. Reads all of it when the source has a hash."""
    size = place.stat().st_size if place.is_file() else -1
    if size != entry.size:
        return f"{entry.path} has {size} bytes instead of {entry.size}" if size >= 0 else f"{entry.path} is missing"
    if entry.sha256 and sha256_of(place) != entry.sha256:
        return f"{entry.path} has another SHA-256 than at its source"
    if entry.git_sha1 and not entry.sha256 and _git_sha1(place, size) != entry.git_sha1:
        return f"{entry.path} has other bytes than at its source"
    return None


def sha256_of(place: Path) -> str:
    """The SHA-256 of a file, in hex."""
    return _digest(place, hashlib.sha256())


def _git_sha1(place: Path, size: int) -> str:
    return _digest(place, hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False))


def _digest(place: Path, digest: Any) -> str:
    with open(place, "rb") as opened:
        for chunk in iter(lambda: opened.read(_CHUNK), b""):
            digest.update(chunk)
    return digest.hexdigest()


def _is(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _some(entries: Sequence[Entry]) -> str:
    names = sorted(entry.path for entry in entries)
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "") or "no files"
