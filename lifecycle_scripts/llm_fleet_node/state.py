"""The completed steps of a node, kept on disk, so that a run continues where the previous one was stopped."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Optional, cast

NAME = "state.json"
VERSION = 1
PENDING, RUNNING, DONE, FAILED = "pending", "running", "done", "failed"

_START_TIME = 19
"""Field 22 of proc(5)'s stat, counted after the program's name, which can have spaces."""


class State:
    """The steps that were done with this bundle since the node booted.

    With another bundle, or after a reboot, no step counts as done: steps are applied again, and change only what is no
    longer correct. Losing the file costs only time, so a failed write stops no step: see `trouble`.
    """

    def __init__(self, folder: Path, *, bundle: str, boot: str) -> None:
        """Read the state in `folder` of the `bundle` with this content hash, since the `boot` with this id."""
        self._folder = folder
        self._key = {"version": VERSION, "bundle": bundle, "boot": boot}
        self.remark: Optional[str] = None
        """A remark about the previous state, for the log."""
        self.trouble: Optional[str] = None
        """Why the state could not be written; `None` if it was."""
        self._steps = self._read()

    def was_done(self, step: str) -> bool:
        """Return whether an earlier run has applied and verified the step."""
        return self._steps.get(step, {}).get("state") == DONE

    def was_stopped(self, step: str) -> bool:
        """Return whether an earlier run was killed during the step."""
        return self._steps.get(step, {}).get("state") == RUNNING

    def note(self, step: str, state: str, *, attempts: int, at: str) -> None:
        """Set the state of the step; `save` writes it."""
        self._steps[step] = {"state": state, "attempts": attempts, "at": at}

    def save(self, *, sync: bool = False) -> None:
        """Write the state atomically.

        `sync`: flush to disk, at the end of a run. Before that, a killed runner loses nothing, and after a power
        failure the boot id differs, so that every step is applied again.
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
        self.remark = f"{path} is not valid ({error}): it was renamed to {aside.name}, and every step is applied"
        try:
            os.replace(path, aside)
        except OSError as failed:
            self.trouble = f"{path} cannot be renamed: {failed.strerror}"


def _what_is_new(found: dict[str, Any], now: dict[str, Any]) -> str:
    if found["bundle"] != now["bundle"]:
        return f"the last run was with bundle {str(found['bundle'])[:16]}: every step is applied"
    if found["boot"] != now["boot"]:
        return "the node was booted since the last run: every step is applied"
    return f"the last run's state has version {found['version']}: every step is applied"


def boot_id(root: Path) -> str:
    """Return an id of the current boot; empty if the kernel has none.

    The kernel's boot id, and the start time of the first process: a restarted container keeps the boot id.
    """
    try:
        kernel = (root / "proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        first = (root / "proc/1/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return f"{kernel}/{first[_START_TIME]}" if len(first) > _START_TIME else kernel
