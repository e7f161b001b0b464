"""User data of a host: the shipped files, packed, and what this host is told."""

import base64
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.lifecycle.script_folder import default_folder, packed, read_folder

_FOLDER = "inference_host"
_SCRIPT = "user_data.sh"


def host_user_data(scope: Construct, settings: dict[str, Any]) -> str:
    """Return the user data that hands `settings` to a host; they may hold tokens.

    EC2 takes 16 KiB of it. The rule of a model's prefix (LF710) keeps it below that.
    """
    return (
        _script()
        .replace("@FILES@", packed_files())
        .replace("@SETTINGS@", cdk.Stack.of(scope).to_json_string(settings, 1))
    )


def packed_files() -> str:
    """Return the files of a host, packed: what EC2 takes would not hold them as they are."""
    files = {file.path: file.data for file in read_folder(_folder()) if file.path != _SCRIPT}
    return packed(files, encode=base64.b85encode)


def _script() -> str:
    """Return the script without its comments, for which EC2's 16 KiB have no room."""
    first, *lines = (_folder() / _SCRIPT).read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join([first, *(line for line in lines if not line.startswith("#"))])


def _folder() -> Path:
    return default_folder() / _FOLDER
