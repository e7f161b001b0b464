"""The machine, as what measures it sees it: it only looks, and nothing that hangs holds it up."""

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
"""Seconds for a killed program to be gone."""
_MOST = 4 * 1024 * 1024
"""Bytes of a program's answer that are read."""


class Unreadable(Exception):
    """A program or file could not be asked; the text says why."""


class Machine:
    """One machine, whose file system begins at `root`."""

    def __init__(self, root: Path = Path("/")) -> None:
        """Take the root: a folder in tests."""
        self.root = root
        self._stuck: dict[str, subprocess.Popen[bytes]] = {}
        """Programs that a kill did not end, by what they were asked: they wait for a device or server in the kernel."""

    def path(self, path: str) -> Path:
        """Return where the absolute `path` is."""
        return self.root / path.lstrip("/")

    def read(self, path: str) -> Optional[str]:
        """Return the text in `path`; `None` where there is none, or the driver refuses to tell it."""
        try:
            return self.path(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    def paths(self, pattern: str) -> list[str]:
        """Return the paths that match `pattern`, in order."""
        found = sorted(self.root.glob(pattern.lstrip("/")))
        return ["/" + str(path.relative_to(self.root)) for path in found]

    def which(self, name: str) -> Optional[str]:
        """Return the path of the program `name`; `None` where there is none."""
        return shutil.which(name, path=os.pathsep.join(str(self.path(folder)) for folder in _PROGRAMS))

    def run(
        self, name: str, *arguments: str, seconds: float = 10, environment: Optional[Mapping[str, str]] = None
    ) -> str:
        """Return what the program `name` says. Raises `Unreadable` when it is not there, fails or takes too long.

        One that cannot even be killed, since it waits in the kernel for a file system that is gone, is left alone, and
        not started again beside itself.
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
        """Start the program `name`, whose output is a pipe. Raises `Unreadable` when it cannot be."""
        requested = " ".join((name, *arguments))
        stuck = self._stuck.get(requested)
        if stuck is not None:
            if stuck.poll() is None:
                raise Unreadable(f"`{name}` hangs since an earlier minute (process {stuck.pid})")
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
        """Kill `process`, and remember under `asked` if that does not end it."""
        process.kill()
        _close(process.stdout)
        _close(process.stderr)
        try:
            process.wait(timeout=_GRACE)
        except subprocess.TimeoutExpired:
            self._stuck[requested] = process

    def used_percent(self, path: str) -> Optional[float]:
        """Return how full the local file system at `path` is, of what a user may fill; `None` where there is none.

        Only for local disks: of a file system whose server is gone it would wait for ever.
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
