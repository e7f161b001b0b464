"""What a node has done so far: kept on disk, so that a run goes on where the one before was stopped."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Optional, cast

NAME = "state.json"
VERSION = 1
PENDING, RUNNING, DONE, FAILED = "pending", "running", "done", "failed"

_START_TIME = 19
"""Field 22 of proc(5)'s stat, counted after the program's name, which may hold blanks."""


class State:
    """The steps that were done with this bundle since the node was booted.

    With another bundle, or after a reboot, nothing counts as done: steps are applied again, and change only what is
    not right any more. Nothing is lost with the file but time, so a disk that does not take it stops no step: see
    `trouble`.
    """

    def __init__(self, folder: Path, *, bundle: str, boot: str) -> None:
        """Read the state in `folder` of the `bundle` with this content hash, since the `boot` with this id."""
        self._folder = folder
        self._key = {"version": VERSION, "bundle": bundle, "boot": boot}
        self.remark: Optional[str] = None
        """What was found out of the ordinary, in words."""
        self.trouble: Optional[str] = None
        """Why the state could not be kept; `None` when it was."""
        self._steps = self._read()

    def was_done(self, step: str) -> bool:
        """Return whether the step was done and proven by an earlier run."""
        return self._steps.get(step, {}).get("state") == DONE

    def was_stopped(self, step: str) -> bool:
        """Return whether an earlier run was killed in the middle of the step."""
        return self._steps.get(step, {}).get("state") == RUNNING

    def note(self, step: str, state: str, *, attempts: int, at: str) -> None:
        """Note where the step stands; `save` keeps it."""
        self._steps[step] = {"state": state, "attempts": attempts, "at": at}

    def save(self, *, sync: bool = False) -> None:
        """Keep the state on disk, whole or not at all.

        `sync` waits until the disk has it: at the end of a run. In between, a killed runner loses nothing, and a
        machine that loses its power finds out by the boot's id that it must look at everything again.
        """
        draft = self._folder / f"{NAME}.new"
        text = json.dumps({**self._key, "steps": self._steps}, indent=1)
        try:
            with open(draft, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                if sync:
                    os.fsync(file.fileno())
            os.replace(draft, self._folder / NAME)
        except OSError as error:
            self.trouble = f"{self._folder / NAME} cannot be written: {error.strerror}"

    def _read(self) -> dict[str, dict[str, Any]]:
        path = self._folder / NAME
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            key, steps = {name: found[name] for name in self._key}, dict(found["steps"])
            if not all(isinstance(entry, dict) for entry in steps.values()):
                raise TypeError("a step without its state")
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError) as error:
            self._set_aside(path, error)
            return {}
        if key == self._key:
            return cast("dict[str, dict[str, Any]]", steps)
        self.remark = _what_is_new(key, self._key)
        return {}

    def _set_aside(self, path: Path, error: Exception) -> None:
        aside = path.with_name(f"{NAME}.broken")
        self.remark = f"{path} cannot be understood ({error}): it is now {aside.name}, and every step is applied"
        try:
            os.replace(path, aside)
        except OSError as failed:
            self.trouble = f"{path} cannot be set aside: {failed.strerror}"


def _what_is_new(found: dict[str, Any], now: dict[str, Any]) -> str:
    if found["bundle"] != now["bundle"]:
        return f"the last run was with bundle {str(found['bundle'])[:16]}: every step is applied"
    if found["boot"] != now["boot"]:
        return "the node was booted since the last run: every step is applied"
    return f"the last run's state is of version {found['version']}: every step is applied"


def boot_id(root: Path) -> str:
    """Return what names the time since the node was booted; empty where the kernel does not tell.

    The kernel's own id, and when the first process began: a container that is started anew keeps the former.
    """
    try:
        kernel = (root / "proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        first = (root / "proc/1/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return f"{kernel}/{first[_START_TIME]}" if len(first) > _START_TIME else kernel
