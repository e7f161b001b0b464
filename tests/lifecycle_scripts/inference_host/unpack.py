"""Reads the files and settings in a host's user data."""

import base64
import bz2
import io
import json
import tarfile
from typing import Any


def files_of(user_data: str) -> dict[str, str]:
    """The files that it writes below /opt/llm-fleet/inference_host, by path."""
    packed = bz2.decompress(base64.b85decode(_between(user_data, "FILES").replace("\n", "")))
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return {entry.name: _text(archive, entry) for entry in archive.getmembers()}


def settings_of(user_data: str) -> dict[str, Any]:
    """The settings of the host."""
    return json.loads(_between(user_data, "SETTINGS"))


def _between(text: str, mark: str) -> str:
    """The here-document that ends with `mark`."""
    return text.partition(f"<<'{mark}'")[2].partition("\n")[2].rpartition(f"\n{mark}\n")[0]


def _text(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> str:
    file = archive.extractfile(entry)
    assert file is not None, f"{entry.name} is not a file"
    return file.read().decode()
