"""The pinned files of an environment: its packages and their dependencies."""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence
from pathlib import Path

from llm_fleet_node.downloading.system import system_of
from llm_fleet_node.downloads import CACHE, fetch_files, is_version
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.manifest_parts import Download, Environment
from llm_fleet_node.node import Node

KINDS = {"venv": "wheel", "conda": "archive"}


def files_of(node: Node, environment: Environment) -> list[Download]:
    """Return the pinned files of the environment's packages and their dependencies, without duplicates, by name.

    Names are compared as indexes do (PEP 503), since a lock file may say `torch_neuronx` for `torch-neuronx`. Raises
    `Failure` if one is not pinned for this system, or in several versions of which none is named.
    """
    versions = {normal(package.name): package.version for package in environment.packages}
    fitting = _fitting(node, KINDS[environment.kind])
    found: dict[str, Download] = {}
    waiting = list(versions)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = _one(node, fitting, name, versions.get(name, ""))
            waiting += [normal(required) for required in found[name].requires]
    return [found[name] for name in sorted(found)]


def fetch(node: Node, files: Sequence[Download]) -> list[Path]:
    """Download the `files` and return their paths. Errors of the node's own disk are reported as such."""
    try:
        return fetch_files(node, files)
    except OSError as error:
        code = Code.DISK_FULL if error.errno in (errno.ENOSPC, errno.EDQUOT) else Code.STATE
        fail(code, f"{error.filename or CACHE}: {error.strerror or error}")


def normal(name: str) -> str:
    """Return the normal form of a package's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _fitting(node: Node, kind: str) -> list[Download]:
    system = system_of(node.host)
    return [file for file in node.manifest.downloads.files if file.kind == kind and file.system in (None, system)]


def _one(node: Node, files: Sequence[Download], name: str, version: str) -> Download:
    named = [file for file in files if normal(file.name) == name and _is_version(file.version, version)]
    checksums = {file.sha256 for file in named}
    if len(checksums) == 1:
        return named[0]
    requested = f"{name} {version}".strip()
    system = system_of(node.host)
    if not named:
        fail(Code.NOT_PINNED, f"{requested} is not pinned for {system}, but an environment requires it", final=True)
    reported = ", ".join(sorted(file.version for file in named))
    fail(
        Code.NOT_PINNED,
        f"{requested} is pinned for {system} in several versions ({reported}): the environment must name one",
        final=True,
    )


def _is_version(found: str, wanted: str) -> bool:
    """Return whether `found` is `wanted`, which can lack the local part of a wheel's version (PEP 440: `+…`)."""
    return is_version(found, wanted) or found.split("+", 1)[0] == wanted
