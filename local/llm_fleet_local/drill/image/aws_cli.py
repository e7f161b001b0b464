"""Downloads the AWS CLI for the node image: pinned versions with checksums."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

from uv import find_uv_bin


def fetch_aws_cli(pins: Path, target: Path, python: str) -> None:
    """Install the AWS CLI of the requirements file `pins` into the folder `target`, for nodes with Python `python`.

    Raises `subprocess.CalledProcessError` when a package is not available or has another checksum.
    """
    subprocess.run(
        [
            *(find_uv_bin(), "pip", "install", "--quiet"),
            f"--target={target}",
            f"--python-platform={platform.machine()}-manylinux_2_28",
            f"--python-version={python}",
            "--only-binary=:all:",
            "--no-deps",
            "--require-hashes",
            f"--requirement={pins}",
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    shutil.rmtree(target / "awscli" / "examples")  # of its manual, 26 MB
