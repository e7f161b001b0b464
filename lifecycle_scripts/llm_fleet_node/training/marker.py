"""The marker of a complete environment: written last, and compared quickly on every node.

Hashing gigabytes on each of many nodes would take longer than the build. Instead the names in the top
folders of the environment and of each installed package are compared. `rm -rf`, an incomplete copy or a clean-up by age
remove names there; a changed byte in a file is not detected here (Lustre and the checksums of the downloads protect
against that). Nothing is imported: that also reads gigabytes, and a faulty device would look like a broken environment.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

from llm_fleet_node.manifest_parts import Environment
from llm_fleet_node.training import shared_files

NAME = ".llm-fleet.json"
_CACHES = {"__pycache__", NAME}
_TOPS = ("", "bin", "conda-meta", "lib")
_PACKAGES = "lib/python*/site-packages"


def wanted(environment: Environment) -> dict[str, Any]:
    """Return the environment's entry in the manifest, for the marker."""
    return {
        "name": environment.name,
        "kind": environment.kind,
        "program": environment.program,
        "packages": [[package.name, package.version] for package in environment.packages],
        "image": environment.image,
    }


def write(prefix: Path, environment: Environment, contents: dict[str, Any]) -> None:
    """Write the marker of the environment in `prefix`; `contents`: its packages."""
    document = {"environment": wanted(environment), "outline": outline(prefix), **contents}
    shared_files.put(prefix / NAME, shared_files.as_text(document))


def problem(prefix: Path, environment: Environment) -> Optional[str]:
    """Return why `prefix` is not the complete `environment`; `None` if it is."""
    if not prefix.is_dir():
        return f"{prefix} does not exist"
    document = shared_files.read_document(prefix / NAME)
    if document is None:
        return f"the build of {prefix} is incomplete: it has no {NAME}"
    if document.get("environment") != wanted(environment):
        return f"{prefix} was built from {document.get('environment')}, not from {wanted(environment)}"
    if document.get("outline") != outline(prefix):
        return f"files were removed from {prefix}, or added to it, since it was built"
    return None


def outline(prefix: Path) -> str:
    """Return the digest of the names in the environment's upper folders."""
    digest = hashlib.sha256()
    for folder in _folders(prefix):
        names = sorted({*_names(folder)} - _CACHES)
        digest.update(f"{folder.relative_to(prefix)}: {names}\n".encode())
    return digest.hexdigest()


def _folders(prefix: Path) -> Iterator[Path]:
    for top in _TOPS:
        yield prefix / top
    for packages in sorted(prefix.glob(_PACKAGES)):
        yield packages
        yield from (packages / name for name in sorted({*_names(packages)} - _CACHES) if (packages / name).is_dir())


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
