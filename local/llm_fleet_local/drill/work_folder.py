"""The folders of the drill: one in the project, and one in the user's cache that all projects share."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from llm_fleet_local.cache import cache_folder
from llm_fleet_local.command.project import LocalError, Project

_WORK_VARIABLE, _CACHE_VARIABLE = "LLM_FLEET_LOCAL_FOLDER", "XDG_CACHE_HOME"
_IN_NO_MOUNT = frozenset(':,"\\\t\n')
"""Characters that separate or quote the folders of an overlay mount."""


def work_folder(start: Path = Path()) -> Path:
    """Return the folder of the clusters and runs of the project of `start`: `drill` in its state folder."""
    return Project.of(start).state / "drill"


def image_folder() -> Path:
    """Return the folder of node images and of the interpreter that nodes train with."""
    return cache_folder().absolute() / "drill" / "images"


def download_folder() -> Path:
    """Return the folder of the files that lock files pin, in the layout of `llm-fleet mirror build --cache`."""
    return cache_folder().absolute() / "drill" / "downloads"


def prepare_folders(start: Path) -> Path:
    """Create the folders, and return the project's. Raises `LocalError` if nodes cannot use one."""
    project, work = Project.of(start), work_folder(start)
    for folder, variable in ((work, _WORK_VARIABLE), (image_folder(), _CACHE_VARIABLE)):
        if wrong := sorted(_IN_NO_MOUNT.intersection(str(folder))):
            raise LocalError(
                f"{folder} has {wrong[0]!r} in its name, with which it cannot be mounted on nodes",
                f'set {variable} to a folder whose name has none of : , " \\, tab and newline',
            )
        try:
            make_folder(folder)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise LocalError(
                f"{folder} cannot be written: {why}", f"set {variable} to a folder that you can write"
            ) from error
    project.prepare()
    give(project.state / ".gitignore")
    return work


def make_folder(folder: Path) -> None:
    """Create `folder` and its parents. Run with sudo, a new folder belongs to the owner of the one that it is in."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        give(folder)


def give(path: Path) -> None:
    """Give `path` to the owner of the folder that it is in, if this process may."""
    above = path.parent.stat()
    with suppress(PermissionError):  # not root
        os.chown(path, above.st_uid, above.st_gid)
