"""Downloads the AWS CLI for the node image: pinned versions with checksums."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

_CHECKOUT = Path(__file__).parents[4]


def fetch_aws_cli(pins: Path, target: Path, python: str) -> None:
    """Install the AWS CLI of the requirements file `pins` into the folder `target`, for nodes with Python `python`.

    Raises `subprocess.CalledProcessError` when a package is not available or has another checksum.
    """
    subprocess.run(
        [
            *_installer(),
            "--quiet",
            f"--target={target}",
            f"--python-version={python}",
            "--only-binary=:all:",
            "--no-deps",
            "--require-hashes",
            f"--requirement={pins}",
        ],
        check=True,
    )
    shutil.rmtree(target / "awscli" / "examples")  # of its manual, 26 MB


def _installer() -> list[str]:
    """Return the command that installs packages for another Python into a folder: uv (from `make setup`) or pip."""
    own = _CHECKOUT / ".tools" / "uv" / "bin" / "uv"
    uv = str(own) if own.exists() else shutil.which("uv")
    machine = platform.machine()
    if uv:
        return [uv, "pip", "install", f"--python-platform={machine}-manylinux_2_28"]
    return [sys.executable, "-m", "pip", "install", f"--platform=manylinux2014_{machine}"]
