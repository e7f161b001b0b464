"""To disk, and not only to the page cache: a node may lose its power a moment later."""

from __future__ import annotations

import os
from pathlib import Path


def force_file(path: Path) -> None:
    """A file's bytes, and on Lustre its size."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def force_folder(path: Path) -> None:
    """A folder's names: what was made, renamed or removed in it."""
    force_file(path)


def force_tree(path: Path) -> None:
    """A folder and those in it, the deepest first; not their files."""
    for folder, _, _ in os.walk(path, topdown=False):
        force_folder(Path(folder))
