"""Installs the programs that the drill requires on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping

PACKAGES: Mapping[str, str] = {
    "mmdebstrap": "mmdebstrap",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "ip": "iproute2",
}
"""Debian and Ubuntu packages by program."""


class MissingPrerequisite(RuntimeError):
    """Something that the drill requires is missing on this machine; the message has the remedy."""


def provide(*programs: str, say: Callable[[str], None]) -> None:
    """Check that the machine has `programs`; install and log missing ones if possible.

    Raises `MissingPrerequisite` without root or apt.
    """
    missing = [program for program in programs if shutil.which(program) is None]
    if not missing:
        return
    packages = sorted({PACKAGES[program] for program in missing})
    command = f"apt-get install --yes {' '.join(packages)}"
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise MissingPrerequisite(f"{', '.join(missing)} not found: on Debian or Ubuntu, as root: {command}")
    say(f"installing {', '.join(packages)} on this machine with apt-get")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (["apt-get", "-qq", "update"], ["apt-get", "-qq", "install", "--yes", *packages]):
        done = subprocess.run(step, env=quiet, capture_output=True, text=True, check=False)
        if done.returncode:
            raise MissingPrerequisite(f"`{' '.join(step)}` ended with {done.returncode}: {done.stderr.strip()}")
