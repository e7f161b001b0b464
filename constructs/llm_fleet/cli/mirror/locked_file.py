"""A file of the lock, as the command holds it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from llm_fleet.named_files.lock_file import lock_problems, locked_files
from llm_fleet.rules.downloads_lock import check_lock
from llm_fleet.rules.mirror_layout import mirror_key
from llm_fleet.rules.problem import raise_problems

_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedFile:
    """One pinned file. Its fields are those of `downloads.files` in `fleet.json`."""

    name: str
    version: str
    kind: str
    """`deb`, `rpm`, `wheel` or `archive`."""
    system: str | None
    """E.g. `ubuntu-24.04-amd64`; `None` for any."""
    url: str
    sha256: str
    size: int
    requires: tuple[str, ...] = ()
    """Names of the other files that a node without them needs for it."""

    @property
    def key(self) -> str:
        """Where it lies in a mirror."""
        return mirror_key(self.url, self.sha256)

    def __str__(self) -> str:
        return f"{self.name} {self.version}" + (f" for {self.system}" if self.system else "")


def read_lock(path: Path) -> list[LockedFile]:
    """Return the files of the lock file at `path`. Raises `FleetError` when it is missing or wrong."""
    raise_problems(lock_problems(path), subject=str(path))
    return [_file(entry) for entry in locked_files(path)]


def lock_text(files: list[LockedFile]) -> str:
    """Return the lock file of `files`, always the same for the same files. Raises `FleetError` on contradictions."""
    ordered = sorted(files, key=lambda file: (file.system or "", file.name, file.version))
    document: dict[str, Any] = {"schema_version": _VERSION, "files": [_entry(file) for file in ordered]}
    raise_problems(check_lock(document), subject="the lock file to be")
    return json.dumps(document, indent=2) + "\n"


def _file(entry: dict[str, Any]) -> LockedFile:
    requires: list[str] = entry["requires"]
    return LockedFile(**{name: value for name, value in entry.items() if name != "requires"}, requires=tuple(requires))


def _entry(file: LockedFile) -> dict[str, Any]:
    return {**asdict(file), "requires": sorted(file.requires)}
