"""Imports a container image once, into a file that Pyxis uses on all nodes."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any, Optional

from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.host import CommandFailed
from llm_fleet_node.manifest_parts import Environment
from llm_fleet_node.node import Node
from llm_fleet_node.training import marker, shared_files, storage
from llm_fleet_node.training.registry import logged_in
from llm_fleet_node.training.shared_lock import Held

_SECONDS = 5400.0
_SUPERBLOCK = 96
"""Bytes at the beginning of a squashfs: magic `hsqs`, time, number of inodes, size in bytes."""
_MAGIC, _BYTES_USED = b"hsqs", 40
_REFUSED = ("401", "403", "denied", "Could not find any credentials", "no basic auth")


def marker_of(image: Path) -> Path:
    """Return the path of the marker of `image`."""
    return image.with_name(f"{image.name}.json")


def problem(image: Path, environment: Environment) -> Optional[str]:
    """Return why `image` is not the complete image of the environment; `None` if it is.

    Only its beginning, which identifies it, and its size are compared, not gigabytes on each of many nodes.
    """
    document = shared_files.read_document(marker_of(image))
    if document is None:
        return f"the import of {image} is incomplete: {marker_of(image).name} is missing"
    if document.get("environment") != marker.wanted(environment):
        return f"{image} is for {document.get('environment')}, not for {marker.wanted(environment)}"
    try:
        found = _facts(image)
    except (Failure, OSError) as error:
        return error.cause if isinstance(error, Failure) else f"{image}: {error.strerror}"
    if any(document.get(name) != value for name, value in found.items()):
        return f"{image} is not the imported image: it has {found['size']} bytes"
    return None


def build(node: Node, environment: Environment, image: Path, held: Held) -> None:
    """Import the image to a temporary file, and rename it and its marker. Raises `Failure`."""
    for left in image.parent.glob(f".{image.name}.*"):
        left.unlink()  # of a killed run: only the holder of the lock makes such files
    aside = image.with_name(f".{image.name}.{shared_files.unique()}")
    held.doing(f"importing {environment.image}")
    try:
        _import(node, environment, aside)
        facts = _facts(aside)
        os.chmod(aside, 0o644)
        held.check()
        os.replace(aside, image)
    finally:
        aside.unlink(missing_ok=True)
    node.host.changes.append(f"put {image} in place")
    document = {"environment": marker.wanted(environment), **facts}
    shared_files.put(marker_of(image), shared_files.as_text(document))
    node.host.changes.append(f"marked {image} as complete")


def _import(node: Node, environment: Environment, aside: Path) -> None:
    image = environment.image or ""
    if node.host.which("enroot") is None:
        fail(Code.IMAGE_IMPORT, f"this node has no Enroot, which is required to import {image}", final=True)
    with logged_in(node, image) as variables:
        try:
            node.host.run("enroot", "import", "--output", str(aside), image, timeout=_SECONDS, env=variables)
        except CommandFailed as error:
            if any(sign in error.output for sign in _REFUSED):
                fail(Code.REGISTRY, f"{image}: {error.cause}")
            storage.fail_by_command(Code.IMAGE_IMPORT, error, str(aside.parent))
    if not aside.is_file():
        fail(Code.IMAGE_IMPORT, f"Enroot printed no error, but made no image of {image}")
    node.host.changes.append(f"imported {image}")


def _facts(image: Path) -> dict[str, Any]:
    """Return what identifies the image; raises `Failure` if it is not a complete squashfs."""
    with open(image, "rb") as file:
        head = file.read(_SUPERBLOCK)
        size = os.fstat(file.fileno()).st_size
    if len(head) < _SUPERBLOCK or not head.startswith(_MAGIC):
        fail(Code.IMAGE_IMPORT, f"{image} is not a squashfs: it begins with {head[:4]!r}")
    used = struct.unpack_from("<Q", head, _BYTES_USED)[0]
    if used > size:
        fail(Code.IMAGE_IMPORT, f"{image} is incomplete: {size} of {used} bytes")
    return {"size": size, "superblock": head.hex()}
