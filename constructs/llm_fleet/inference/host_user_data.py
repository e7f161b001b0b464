"""User data of a host: the shipped files, packed, and what this host is told."""

import base64
import bz2
import io
import tarfile
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.lifecycle.script_folder import default_folder, read_folder

_FOLDER = "inference_host"
_SCRIPT = "user_data.sh"
_COLUMNS = 76


def host_user_data(scope: Construct, settings: dict[str, Any]) -> str:
    """Return the user data that hands `settings` to a host; they may hold tokens.

    EC2 takes 16 KiB of it. The rule of a model's prefix (LF710) keeps it below that.
    """
    script = (_folder() / _SCRIPT).read_text(encoding="utf-8")
    return script.replace("@FILES@", packed_files()).replace(
        "@SETTINGS@", cdk.Stack.of(scope).to_json_string(settings, 1)
    )


def packed_files() -> str:
    """Return the files of a host as a tar archive, packed by bzip2, in lines of base64.

    The same bytes on every machine: another text would be another launch template, and would replace every host.
    Python's zlib is not the same everywhere, its bzip2 is. What EC2 takes would not hold the files unpacked.
    """
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for file in read_folder(_folder()):
            if file.path == _SCRIPT:
                continue
            entry = tarfile.TarInfo(file.path)
            entry.size = len(file.data)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(file.data))
    text = base64.b64encode(bz2.compress(held.getvalue())).decode()
    return "\n".join(text[start : start + _COLUMNS] for start in range(0, len(text), _COLUMNS))


def _folder() -> Path:
    return default_folder() / _FOLDER
