"""Reads the folder of a user's own scripts, for fleet file and construct alike."""

from collections.abc import Collection
from pathlib import Path


def own_scripts(folder: Path, named: Collection[str]) -> dict[str, bytes]:
    """Return the files below `folder` by their paths in it, with the contents of those that are `named`.

    Of the others only the names are of interest, to offer them for a misspelt one. Hidden files are none of the
    bundle. Raises `NotADirectoryError` when there is no such folder.
    """
    if not folder.is_dir():
        raise NotADirectoryError(f"no folder of own scripts at {folder}")
    found: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not any(part.startswith(".") or part == "__pycache__" for part in name.split("/")):
            found[name] = path.read_bytes() if name in named else b""
    return found
