"""The munge key of nodes without a platform: generated once, and shared on the shared file system.

All nodes of a cluster must have this secret, and no one else. Every node mounts the fleet's file system, and only root
can read the file, as with the key itself, so this trusts nothing more than Slurm already does.
"""

from __future__ import annotations

import base64
import os
import stat
from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.node import Node
from llm_fleet_node.step import CONTROLLER
from llm_fleet_node.waiting import wait_for

KEY = "/etc/munge/munge.key"
_LENGTH = 128
"""Size in bytes. munged requires at least 32."""
_SECONDS = 240.0
"""Timeout for the controller's key: the controller may be the last node to start."""


_OTHERS_WRITE = 0o022


def shared_place(node: Node) -> Optional[str]:
    """Return the folder for the key, on the first file system that every group mounts; `None` if there is none."""
    for mount in node.manifest.mounts:
        if mount.groups is None:
            return f"{mount.mount_path}/.llm-fleet/{node.manifest.cluster or node.manifest.fleet}"
    return None


def bring(node: Node) -> None:
    """Make sure that munge has the cluster's key. The controller makes it, the others wait for it.

    Raises `Failure` if there is no shared file system, or no key in time.
    """
    place = shared_place(node)
    if place is None:
        fail(Code.MUNGE_KEY, "no platform provides a munge key here, and no file system is mounted in every group")
    if node.role == CONTROLLER:
        _make(node.host, place)
    path = f"{place}/munge.key"
    key = wait_for(f"key in {path}", lambda: _read(node.host, path), seconds=_SECONDS, code=Code.MUNGE_KEY)
    _check_roots_alone(node.host, _above(place), place, path)
    _put(node.host, key)


def _above(place: str) -> str:
    return place.rsplit("/", 1)[0]


def _check_roots_alone(host: Host, *paths: str) -> None:
    """Raise `Failure` if other users than root could have written the key: it allows to act as any user in Slurm."""
    for path in paths:
        found = host.path(path).lstat()
        if stat.S_ISLNK(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & _OTHERS_WRITE:
            reported = f"mode {stat.filemode(found.st_mode)}, owner {found.st_uid}"
            fail(
                Code.MUNGE_KEY,
                f"{path} must belong to root, be writable only for root and not be a link ({reported})",
                final=True,
            )


def _make(host: Host, place: str) -> None:
    """Make the key unless it exists. Two controllers at the same time get the same key."""
    if not os.path.lexists(host.path(_above(place))):
        host.folder(_above(place))
    _check_roots_alone(host, _above(place))
    host.folder(place, mode=0o700)
    final = host.path(f"{place}/munge.key")
    if final.exists():
        return
    draft = final.with_name(f".munge.key.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o400)  # codespell:ignore wronly
    with open(handle, "wb") as file:
        file.write(base64.b64encode(os.urandom(_LENGTH)))
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, final)  # fails if another node was first; the file is complete or missing
        host.changes.append(f"made {place}/munge.key")
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def _read(host: Host, path: str) -> str:
    try:
        return host.read(path) or ""
    except OSError as error:
        fail(Code.MUNGE_KEY, f"{path} cannot be read: {error.strerror}; is it root's, and not squashed by the server?")


def _put(host: Host, key: str) -> None:
    """The key is text: munge accepts any bytes."""
    host.write(KEY, key, mode=0o400, owner="munge")
