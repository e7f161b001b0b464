"""The machine that steps look at and change: everything goes through here, so that it is seen and can be moved."""

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
"""Where programs are looked for, first the platform's own: hooks are started with hardly any PATH at all."""
_DRAFT = ".draft-"
"""Before the number of the process that writes a file: a draft that is left over can be told."""
_FOREIGN = "surrogateescape"
"""How bytes that are no UTF-8 pass through a text unharmed; see the module codecs."""
_TAIL = 20
"""Lines of a failed command's output that are told."""


class CommandFailed(Failure):
    """A command ended with a code that is not right, or not in time."""

    def __init__(self, command: Sequence[str], returncode: Optional[int], output: str) -> None:
        """Take what was run, its exit code (`None`: not in time) and what it said."""
        how = "did not end in time" if returncode is None else f"ended with {returncode}"
        tail = "\n".join(output.strip().splitlines()[-_TAIL:])
        super().__init__(Code.COMMAND, f"`{' '.join(command)}` {how}" + (f": {tail}" if tail else ""))
        self.command = tuple(command)
        self.returncode = returncode
        self.output = output


class Host:
    """One machine. `root` is where its file system begins: `/`, or a folder in tests.

    A moved host never touches the machine it runs on: it finds only the programs below its own root, and its files
    belong to whoever runs it.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        """Take the root of the file system."""
        self.root = root
        self.changes: list[str] = []
        """What was changed, in words, in order: empty when everything was right already."""

    def path(self, path: str) -> Path:
        """Return where the absolute `path` of the node is."""
        return self.root / path.lstrip("/")

    def read(self, path: str) -> Optional[str]:
        """Return the text in `path`; `None` when there is no such file, or it is of a process that is gone.

        What is no UTF-8, such as an old comment in `/etc/passwd`, is kept as it is when the text is written again.
        """
        try:
            return self.path(path).read_text(encoding="utf-8", errors=_FOREIGN)
        except (FileNotFoundError, ProcessLookupError):
            return None

    def write(self, path: str, text: str, *, mode: int = 0o644, owner: str = "root", group: str = "") -> bool:
        """Make the file `path` hold `text` with `mode` and owner, whole or not at all; return whether it was changed.

        `group` is the owner's own when empty. A file that is right is not touched.
        """
        target = self.path(path)
        uid, gid = self._ids(owner, group)
        if self._is(target, text, mode, uid, gid):
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_left_drafts(target)
        draft = target.with_name(f".{target.name}{_DRAFT}{os.getpid()}")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
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
        """Remove what writers of `path` left when they were killed, where all files of its folder are read."""
        if self.path(path).parent.is_dir():
            _remove_left_drafts(self.path(path))

    def remove(self, path: str) -> bool:
        """Make sure that there is no file `path`; return whether there was."""
        try:
            self.path(path).unlink()
        except FileNotFoundError:
            return False
        self.changes.append(f"removed {path}")
        return True

    def folder(self, path: str, *, mode: int = 0o755, owner: str = "root", group: str = "") -> bool:
        """Make sure that there is a folder `path` with `mode` and owner; return whether anything was changed."""
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
        """Run `command` to its end and return its standard output. Raises `CommandFailed` unless it ends with 0.

        `timeout` in seconds. `input` goes to its standard input: the way for secrets. `env` is added to the
        environment. `changes` says in words what it changed; empty for a command that only looks. `secret`: what it
        says on standard output is never told, not even when it fails.
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
        """Return whether `command`, which only looks, ends with 0 in time."""
        try:
            self.run(*command, timeout=timeout)
        except CommandFailed:
            return False
        return True

    def which(self, name: str) -> Optional[str]:
        """Return the path of the program `name`; `None` when the node has none."""
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
    """Remove what writers of `target` left who were killed in the middle: their process is no more."""
    start = f".{target.name}{_DRAFT}"
    for name in os.listdir(target.parent):
        writer = name[len(start) :] if name.startswith(start) else ""
        if writer.isdecimal() and (int(writer) == os.getpid() or not os.path.exists(f"/proc/{writer}")):
            (target.parent / name).unlink(missing_ok=True)


def _text(output: object) -> str:
    return output.decode("utf-8", "replace") if isinstance(output, bytes) else str(output or "")
