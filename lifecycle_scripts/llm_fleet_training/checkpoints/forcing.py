"""Syncs files to disk: data in the page cache is lost when a node loses power."""

from __future__ import annotations

import os
from pathlib import Path


def force_file(path: Path) -> None:
    """Sync a file's bytes, and on Lustre its size."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def force_folder(path: Path) -> None:
    """Sync a folder's entries: files created, renamed or removed in it."""
    force_file(path)


def force_tree(path: Path) -> None:
    """Sync a folder and its subfolders, the deepest first; not their files."""
    for folder, _, _ in os.walk(path, topdown=False):
        force_folder(Path(folder))
