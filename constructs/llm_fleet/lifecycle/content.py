"""What a bundle is called: hashes over its contents, the same on every machine and at every synth."""

import hashlib
import io
import json
import zipfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from llm_fleet.lifecycle.script_folder import ScriptFile
from llm_fleet.rules.tokens import is_unresolved

_PLACEHOLDER = "(known when deployed)"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def checksums(files: Sequence[ScriptFile]) -> str:
    """Return the list of `files` with their SHA-256, as `sha256sum` writes and reads it, in the order of paths."""
    in_order = sorted(files, key=lambda file: file.path)
    return "".join(f"{hashlib.sha256(file.data).hexdigest()}  {file.path}\n" for file in in_order)


def sha256(text: str) -> str:
    """Return the SHA-256 of `text` in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def content_hash(files: Sequence[ScriptFile], manifest: dict[str, Any]) -> str:
    """Return the hash that names a bundle: paths, run bits and bytes of `files`, and all of `manifest` known at synth.

    A value that is known only at deploy time counts as present, not by what it will be.
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
    """Return the archive of `files`: every cluster and function of an app holds one of the same few."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            entry = zipfile.ZipInfo(f"{below}{file.path}", _EPOCH)
            entry.external_attr = (0o100755 if file.executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.data)
    return written.getvalue()


def _without_tokens(value: Any) -> Any:
    """Return `value` with a placeholder for each token, whose own text changes from synth to synth."""
    if isinstance(value, dict):
        return {key: _without_tokens(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_without_tokens(item) for item in cast("list[Any]", value)]
    return _PLACEHOLDER if is_unresolved(value) else value
