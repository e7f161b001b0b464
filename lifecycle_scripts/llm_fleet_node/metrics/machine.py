"""Read-only access to the machine, with timeouts for everything that can hang."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Optional

_PROGRAMS = (
    "/opt/slurm/bin",
    "/opt/aws/neuron/bin",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/snap/bin",
)
_GRACE = 1.0
"""Seconds for a killed program to end."""
_MOST = 4 * 1024 * 1024
"""Maximum bytes of a program's output."""


class Unreadable(Exception):
    """A program or file could not be read, with the reason."""


class Machine:
    """One machine, whose file system begins at `root`."""

    def __init__(self, root: Path = Path("/")) -> None:
        """`root`: `/`, or a folder in tests."""
        self.root = root
        self._stuck: dict[str, subprocess.Popen[bytes]] = {}
        """Programs that a kill did not end, by command: they wait for a device or server in the kernel."""

    def path(self, path: str) -> Path:
        """Return the absolute `path` below the root."""
        return self.root / path.lstrip("/")

    def read(self, path: str) -> Optional[str]:
        """Return the text in `path`; `None` if there is no file, or if the driver rejects the read."""
        try:
            return self.path(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    def paths(self, pattern: str) -> list[str]:
        """Return the paths that match `pattern`, in order."""
        found = sorted(self.root.glob(pattern.lstrip("/")))
        return ["/" + str(path.relative_to(self.root)) for path in found]

    def which(self, name: str) -> Optional[str]:
        """Return the path of the program `name`; `None` if it is not installed."""
        return shutil.which(name, path=os.pathsep.join(str(self.path(folder)) for folder in _PROGRAMS))

    def run(
        self, name: str, *arguments: str, seconds: float = 10, environment: Optional[Mapping[str, str]] = None
    ) -> str:
        """Return the output of the program `name`. Raises `Unreadable` if it is missing, fails or times out.

        A program that cannot be killed, because it waits in the kernel for a file system that is gone, is left running,
        and not started again while it runs.
        """
        process = self.start(name, *arguments, environment=environment)
        try:
            said, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.end(process, " ".join((name, *arguments)))
            raise Unreadable(f"`{name}` did not answer within {seconds:g} s") from None
        if process.returncode:
            reported = errors.decode(errors="replace").strip().splitlines()
            raise Unreadable(
                f"`{name}` ended with {process.returncode}" + (f": {reported[-1][:200]}" if reported else "")
            )
        return said[:_MOST].decode(errors="replace")

    def start(
        self, name: str, *arguments: str, environment: Optional[Mapping[str, str]] = None
    ) -> subprocess.Popen[bytes]:
        """Start the program `name`, with its output in a pipe. Raises `Unreadable` if it cannot be started."""
        requested = " ".join((name, *arguments))
        stuck = self._stuck.get(requested)
        if stuck is not None:
            if stuck.poll() is None:
                raise Unreadable(f"`{name}` has been hanging since an earlier minute (process {stuck.pid})")
            del self._stuck[requested]
        program = self.which(name)
        if program is None:
            raise Unreadable(f"this node has no `{name}`")
        try:
            return subprocess.Popen(
                [program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, "LC_ALL": "C.UTF-8", **(environment or {})},
            )
        except OSError as error:
            raise Unreadable(f"`{name}` cannot be run: {error.strerror}") from error

    def end(self, process: subprocess.Popen[bytes], requested: str) -> None:
        """Kill `process`; if it does not end, record it under its command."""
        process.kill()
        _close(process.stdout)
        _close(process.stderr)
        try:
            process.wait(timeout=_GRACE)
        except subprocess.TimeoutExpired:
            self._stuck[requested] = process

    def used_percent(self, path: str) -> Optional[float]:
        """Return the used part of the local file system at `path`, without root's reserve; `None` if there is none.

        Only for local disks: on a file system whose server is gone it would hang forever.
        """
        try:
            reported = os.statvfs(self.path(path))
        except OSError:
            return None
        used = reported.f_blocks - reported.f_bfree
        all_of_it = used + reported.f_bavail
        return 100.0 * used / all_of_it if all_of_it else None


def _close(pipe: Optional[IO[bytes]]) -> None:
    if pipe is not None:
        pipe.close()
