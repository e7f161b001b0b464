"""Installs the programs that the drill requires on this machine."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Mapping

from llm_fleet_local.command.project import LocalError

PACKAGES: Mapping[str, str] = {
    "mmdebstrap": "mmdebstrap",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "ip": "iproute2",
}
"""Debian and Ubuntu packages by program."""
APART = ("unshare", "--cgroup", "--mount", "--uts", "--ipc", "--net", "--pid", "--propagation=private", "--fork")
"""Runs a command in new namespaces, as the first process of a node."""


class MissingPrerequisite(LocalError):
    """Something that the drill requires is missing on this machine."""


def check_machine(backend: str) -> None:
    """Raises `MissingPrerequisite` if this process cannot create the nodes of `backend`."""
    if platform.system() != "Linux":
        raise MissingPrerequisite(f"the drill requires Linux, and this is {platform.system()}", "run it on Linux")
    if backend == "docker":
        return
    if os.geteuid() != 0:
        raise MissingPrerequisite(
            "the drill creates namespaces and mounts for its nodes, which requires root",
            'run it as root, e.g. `sudo "$(command -v llm-fleet)" local drill`, or add --backend docker',
        )
    provide("unshare", say=print)
    tried = subprocess.run([*APART, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        raise MissingPrerequisite(
            f"this process cannot create namespaces: {tried.stderr.strip()}",
            "run the drill on a machine or in a virtual machine, not in a container without these privileges",
        )


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
        raise MissingPrerequisite(f"{', '.join(missing)} not found", f"on Debian or Ubuntu, run as root: {command}")
    say(f"installing {', '.join(packages)} on this machine with apt-get")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (["apt-get", "-qq", "update"], ["apt-get", "-qq", "install", "--yes", *packages]):
        done = subprocess.run(step, env=quiet, capture_output=True, text=True, check=False)
        if done.returncode:
            raise MissingPrerequisite(
                f"`{' '.join(step)}` ended with {done.returncode}: {done.stderr.strip()}",
                f"install {', '.join(packages)} on this machine, and run the command again",
            )
