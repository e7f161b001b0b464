"""Checks that the bundle is complete and unchanged since it was published."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.manifest import NAME as MANIFEST

NAME = "SHA256SUMS"
_PACKAGE = "llm_fleet_node"


def verify(bundle: Path, scripts_sha256: str) -> int:
    """Compare every file with its checksum, and the list with the manifest's `scripts_sha256`; return how many files.

    Raises `Failure` if a file is missing, changed or unknown, or if scripts and manifest are of different bundles.
    """
    sums = _read(bundle)
    wrong = [problem for path, digest in sums.items() for problem in _compare(bundle, path, digest)]
    if wrong:
        fail(Code.FILE_CHANGED, f"in the bundle {bundle}: {'; '.join(wrong)}")
    scripts = "".join(f"{digest}  {path}\n" for path, digest in sorted(sums.items()) if path != MANIFEST)
    found = hashlib.sha256(scripts.encode()).hexdigest()
    if MANIFEST not in sums or found != scripts_sha256:
        fail(Code.BUNDLE_MIXED, f"the scripts in {bundle} have digest {found}, but {MANIFEST} has {scripts_sha256}")
    strange = [path for path in _code(bundle) if path not in sums]
    if strange:
        fail(Code.FILE_CHANGED, f"{', '.join(strange)} in {bundle} is not a published file")
    return len(sums)


def _code(bundle: Path) -> list[str]:
    """Return all files of the package: an unknown module could be imported, and an unknown step would be run."""
    found: list[str] = []
    for folder, _, names in os.walk(bundle / _PACKAGE):
        found += [os.path.relpath(os.path.join(folder, name), bundle) for name in names if name.endswith(".py")]
    return sorted(found)


def _read(bundle: Path) -> dict[str, str]:
    try:
        lines = (bundle / NAME).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        fail(Code.BUNDLE_MIXED, f"{bundle / NAME} cannot be read: {error}")
    sums: dict[str, str] = {}
    for line in lines:
        digest, separator, path = line.partition("  ")
        if not separator or Path(path).is_absolute() or ".." in Path(path).parts:
            fail(Code.BUNDLE_MIXED, f"{bundle / NAME} has the line {line!r}, which is not a checksum")
        sums[path] = digest
    return sums


def _compare(bundle: Path, path: str, digest: str) -> list[str]:
    try:
        found = hashlib.sha256((bundle / path).read_bytes()).hexdigest()
    except OSError as error:
        return [f"{path} cannot be read ({error.strerror})"]
    return [] if found == digest else [f"{path} has the digest {found}, but {digest} was published"]
