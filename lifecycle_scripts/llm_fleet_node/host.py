"""Access of steps to the machine: all changes are recorded, and tests can set another root folder."""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Optional

from llm_fleet_node.failures import Code, Failure

_PROGRAMS = (
    "/opt/slurm/bin",
    "/opt/slurm/sbin",
    "/opt/aws/neuron/bin",
    "/opt/amazon/efa/bin",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
)
"""Search path for programs, the platform's folders first: hooks are started with an almost empty PATH."""
_DRAFT = ".draft-"
"""Prefix of the writing process's id in the names of temporary files, to recognize leftover ones."""
_FOREIGN = "surrogateescape"
"""Error handler that keeps bytes that are not UTF-8 unchanged; see the module codecs."""
_TAIL = 20
"""Number of last lines of a failed command's output in the error."""


class CommandFailed(Failure):
    """A command failed or timed out."""

    def __init__(self, command: Sequence[str], returncode: Optional[int], output: str) -> None:
        """Set the command, its exit code (`None`: timeout) and its output."""
        how = "did not finish in time" if returncode is None else f"ended with {returncode}"
        tail = "\n".join(output.strip().splitlines()[-_TAIL:])
        super().__init__(Code.COMMAND, f"`{' '.join(command)}` {how}" + (f": {tail}" if tail else ""))
        self.command = tuple(command)
        self.returncode = returncode
        self.output = output


class Host:
    """One machine. `root` is `/`, or a folder in tests.

    With another root, the machine itself is never changed: only programs below the root are found, and files belong
    to the current user.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        """`root`: the root folder of the file system."""
        self.root = root
        self.changes: list[str] = []
        """Descriptions of the changes, in order; empty if everything was already correct."""

    def path(self, path: str) -> Path:
        """Return the absolute `path` below the root."""
        return self.root / path.lstrip("/")

    def read(self, path: str) -> Optional[str]:
        """Return the text in `path`; `None` if there is no such file, or if it belongs to a process that has ended.

        Bytes that are not UTF-8, e.g. in a comment in `/etc/passwd`, are kept unchanged when the text is written again.
        """
        try:
            return self.path(path).read_text(encoding="utf-8", errors=_FOREIGN)
        except (FileNotFoundError, ProcessLookupError):
            return None

    def write(self, path: str, text: str, *, mode: int = 0o644, owner: str = "root", group: str = "") -> bool:
        """Write `text` to `path` atomically, with `mode` and owner; return whether it was changed.

        `group`: the owner's own if empty. A correct file is not written.
        """
        target = self.path(path)
        uid, gid = self._ids(owner, group)
        if self._is(target, text, mode, uid, gid):
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_left_drafts(target)
        draft = target.with_name(f".{target.name}{_DRAFT}{os.getpid()}")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)  # codespell:ignore wronly
        try:
            with open(handle, "w", encoding="utf-8", errors=_FOREIGN) as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(draft, mode)
            os.chown(draft, uid, gid)
            os.replace(draft, target)
        except BaseException:
            os.unlink(draft)
            raise
        self.changes.append(f"wrote {path}")
        return True

    def remove_drafts(self, path: str) -> None:
        """Remove temporary files that killed writers of `path` left, in a folder of which programs read all files."""
        if self.path(path).parent.is_dir():
            _remove_left_drafts(self.path(path))

    def remove(self, path: str) -> bool:
        """Remove the file `path`; return whether it existed."""
        try:
            self.path(path).unlink()
        except FileNotFoundError:
            return False
        self.changes.append(f"removed {path}")
        return True

    def folder(self, path: str, *, mode: int = 0o755, owner: str = "root", group: str = "") -> bool:
        """Make the folder `path` with `mode` and owner; return whether anything was changed."""
        target = self.path(path)
        uid, gid = self._ids(owner, group)
        if target.is_dir():
            found = target.stat()
            if (found.st_mode & 0o7777, found.st_uid, found.st_gid) == (mode, uid, gid):
                return False
        target.mkdir(parents=True, exist_ok=True)
        os.chown(target, uid, gid)
        os.chmod(target, mode)
        self.changes.append(f"made the folder {path}")
        return True

    def link(self, path: str, target: str) -> bool:
        """Make `path` a symbolic link to `target`; return whether it was changed. Raises `OSError` over a folder."""
        place = self.path(path)
        if place.is_symlink() and os.readlink(place) == target:
            return False
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = place.with_name(f".{place.name}.new")
        draft.unlink(missing_ok=True)
        draft.symlink_to(target)
        os.replace(draft, place)
        self.changes.append(f"linked {path} to {target}")
        return True

    def run(
        self,
        *command: str,
        timeout: float = 60,
        input: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        changes: str = "",
        secret: bool = False,
    ) -> str:
        """Run `command` and return its standard output. Raises `CommandFailed` unless its exit code is 0.

        `timeout` in seconds. `input` is written to its standard input; use it for secrets. `env` is added to the
        environment. `changes` describes what it changes; empty for a command that only reads. `secret`: its standard
        output is never logged, also after an error.
        """
        try:
            done = subprocess.run(
                command,
                input=input,
                stdin=subprocess.DEVNULL if input is None else None,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                timeout=timeout,
                env={**os.environ, "LC_ALL": "C.UTF-8", "PATH": self._program_path(), **(env or {})},
                encoding="utf-8",
                errors="replace",
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise CommandFailed(command, None, _text(None if secret else error.stdout) + _text(error.stderr)) from error
        except OSError as error:
            raise CommandFailed(command, 127, f"{command[0]} cannot be run: {error.strerror}") from error
        if done.returncode:
            raise CommandFailed(command, done.returncode, ("" if secret else done.stdout) + done.stderr)
        if changes:
            self.changes.append(changes)
        return done.stdout

    def succeeds(self, *command: str, timeout: float = 60) -> bool:
        """Return whether `command`, which only reads, succeeds in time."""
        try:
            self.run(*command, timeout=timeout)
        except CommandFailed:
            return False
        return True

    def which(self, name: str) -> Optional[str]:
        """Return the path of the program `name`; `None` if it is not installed."""
        return shutil.which(name, path=self._program_path())

    def _program_path(self) -> str:
        return os.pathsep.join(str(self.path(folder)) for folder in _PROGRAMS)

    def _is(self, target: Path, text: str, mode: int, uid: int, gid: int) -> bool:
        try:
            found = os.lstat(target)
            same = target.read_bytes() == text.encode(errors=_FOREIGN)
        except FileNotFoundError:
            return False
        return same and (found.st_mode & 0o7777, found.st_uid, found.st_gid) == (mode, uid, gid)

    def _ids(self, owner: str, group: str) -> tuple[int, int]:
        if self.root != Path("/"):
            return os.geteuid(), os.getegid()
        user = pwd.getpwnam(owner)
        return user.pw_uid, grp.getgrnam(group).gr_gid if group else user.pw_gid


def _remove_left_drafts(target: Path) -> None:
    """Remove temporary files of `target` whose writing process has ended."""
    start = f".{target.name}{_DRAFT}"
    for name in os.listdir(target.parent):
        writer = name[len(start) :] if name.startswith(start) else ""
        if writer.isdecimal() and (int(writer) == os.getpid() or not os.path.exists(f"/proc/{writer}")):
            (target.parent / name).unlink(missing_ok=True)


def _text(output: object) -> str:
    return output.decode("utf-8", "replace") if isinstance(output, bytes) else str(output or "")
