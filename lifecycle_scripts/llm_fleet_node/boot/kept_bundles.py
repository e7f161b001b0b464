"""Keeps copies of bundles on the node, because the platform copies them below /tmp, which a reboot empties."""

from __future__ import annotations

import shutil
from pathlib import Path

from llm_fleet_node import checksums
from llm_fleet_node.failures import Failure
from llm_fleet_node.host import Host
from llm_fleet_node.manifest import Manifest

FOLDER = "/opt/llm-fleet/bundles"
CURRENT = "/opt/llm-fleet/current"
"""Link to the bundle of the last run that reached the step `run_at_boot`. Two bundles are kept."""
_KEPT = 2
"""This bundle and the previous one."""


def keep(host: Host, bundle: Path, manifest: Manifest) -> str:
    """Make sure that a complete copy of `bundle` is kept; return the copy's path on the node.

    The copy is made in a temporary folder and renamed. A copy that a power failure interrupted is made again.
    """
    host.folder(FOLDER)
    copy = host.path(f"{FOLDER}/{manifest.content_hash}")
    if not _is_whole(copy, manifest):
        draft = copy.with_name(f".{copy.name}.new")
        _clear(draft)
        shutil.copytree(bundle, draft, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        _clear(copy)
        draft.rename(copy)
        host.changes.append(f"kept the bundle in {FOLDER}/{copy.name}")
    return f"{FOLDER}/{copy.name}"


def forget_older(host: Host, bundle: Path, manifest: Manifest) -> None:
    """Remove leftovers of killed runs and all other bundles except the newest; never `bundle`, which runs now.

    Call it only when nothing on the node refers to another bundle.
    """
    folder = host.path(FOLDER)
    found = [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]  # not created by llm-fleet
    others = [path for path in found if path.name != manifest.content_hash and path != bundle]
    drafts = [path for path in others if path.name.startswith(".")]
    whole = sorted((path for path in others if path not in drafts), key=lambda path: path.stat().st_mtime)
    for path in [*drafts, *whole[: len(whole) - (_KEPT - 1)]]:
        shutil.rmtree(path)
        host.changes.append(f"removed the bundle {path.name}")


def _clear(path: Path) -> None:
    """Remove the file, link or folder `path`."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    shutil.rmtree(path, ignore_errors=True)


def _is_whole(copy: Path, manifest: Manifest) -> bool:
    try:
        checksums.verify(copy, manifest.scripts_sha256)
    except Failure:
        return False
    return True
