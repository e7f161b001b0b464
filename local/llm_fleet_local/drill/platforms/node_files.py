"""Writes many files to a node in one command, each with its owner and mode."""

import base64
import io
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass

from llm_fleet_local.drill.nodes.node import Node


@dataclass(frozen=True)
class NodeFile:
    """One file for a node."""

    path: str
    data: bytes
    mode: int = 0o644
    owner: str = "root"

    @classmethod
    def of(cls, path: str, text: str, mode: int = 0o644, owner: str = "root") -> "NodeFile":
        """Return the file `path` with the content `text`."""
        return cls(path, text.encode(), mode, owner)


def put(node: Node, files: Iterable[NodeFile], *, then: str = "true") -> None:
    """Write `files` to `node` and run the shell command `then`. Raises `CommandError`."""
    packed = base64.b64encode(_tar(files)).decode()
    node.run("sh", "-ec", f"base64 -d | tar -xzp -C / ; {then}", input=packed)


def _tar(files: Iterable[NodeFile]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        for file in files:
            entry = tarfile.TarInfo(file.path.lstrip("/"))
            entry.size, entry.mode = len(file.data), file.mode
            entry.uname = entry.gname = file.owner
            archive.addfile(entry, io.BytesIO(file.data))
    return buffer.getvalue()
