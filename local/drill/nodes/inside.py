"""Paths of a node, as the machine sees them."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

_LINKS = 40
"""As many symbolic links as the kernel follows in one path."""


def inside(root: Path, path: str) -> Path:
    """Return where the node's `path` is below `root`, with all symbolic links followed as the node would.

    Without this, a link such as /etc/slurm -> /opt/slurm/etc would lead into the machine's own /opt.
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
