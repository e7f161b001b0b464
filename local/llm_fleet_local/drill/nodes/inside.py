"""Paths of a node, as the machine sees them."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

_LINKS = 40
"""Maximum number of symbolic links that the kernel follows in one path."""


def inside(root: Path, path: str) -> Path:
    """Return the location of the node's `path` below `root`, with all symbolic links resolved as on the node.

    Without this, a link such as /etc/slurm -> /opt/slurm/etc would point to /opt of the machine.
    """
    left = list(PurePosixPath(path).parts)[::-1]
    at: list[str] = []
    followed = 0
    while left:
        part = left.pop()
        if part in ("/", "."):
            continue
        if part == "..":
            at = at[:-1]
            continue
        place = root.joinpath(*at, part)
        if not place.is_symlink():
            at.append(part)
            continue
        followed += 1
        if followed > _LINKS:
            raise OSError(f"too many symbolic links in {path}")
        target = PurePosixPath(os.readlink(place))
        if target.is_absolute():
            at = []
        left += list(target.parts)[::-1]
    return root.joinpath(*at)
