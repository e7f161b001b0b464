"""The munge key of nodes that no platform gives one: by way of shared storage, made once.

A secret that all nodes of a cluster must have, and nobody else may read. Every node mounts the fleet's file system and
root alone reads the file, as root alone reads the key itself, so nothing more is trusted than Slurm trusts already.
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
"""Bytes. munged asks for 32 at least."""
_SECONDS = 240.0
"""For the controller to make the key: it may be the last node to come up."""


_OTHERS_WRITE = 0o022


def shared_place(node: Node) -> Optional[str]:
    """Return the folder for the key, on the first file system that every group mounts; `None` without one."""
    for mount in node.manifest.mounts:
        if mount.groups is None:
            return f"{mount.mount_path}/.llm-fleet/{node.manifest.cluster or node.manifest.fleet}"
    return None


def bring(node: Node) -> None:
    """Make sure that munge has the cluster's key. The controller makes it, the others wait for it.

    Raises `Failure` when there is no place to hand it on, or no key in time.
    """
    place = shared_place(node)
    if place is None:
        fail(Code.MUNGE_KEY, "no platform hands out a munge key here, and no file system is mounted by every group")
    if node.role == CONTROLLER:
        _make(node.host, place)
    path = f"{place}/munge.key"
    key = wait_for(f"key in {path}", lambda: _read(node.host, path), seconds=_SECONDS, code=Code.MUNGE_KEY)
    _check_roots_alone(node.host, _above(place), place, path)
    _put(node.host, key)


def _above(place: str) -> str:
    return place.rsplit("/", 1)[0]


def _check_roots_alone(host: Host, *paths: str) -> None:
    """Raise `Failure` where others than root could have put the key there: whoever knows it can be anybody in Slurm."""
    for path in paths:
        found = host.path(path).lstat()
        if stat.S_ISLNK(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & _OTHERS_WRITE:
            reported = f"mode {stat.filemode(found.st_mode)}, owner {found.st_uid}"
            fail(Code.MUNGE_KEY, f"{path} is not root's alone to write ({reported}): the key may be known", final=True)


def _make(host: Host, place: str) -> None:
    """Make the key unless there is one. Two controllers at once end with the same one."""
    if not os.path.lexists(host.path(_above(place))):
        host.folder(_above(place))
    _check_roots_alone(host, _above(place))
    host.folder(place, mode=0o700)
    final = host.path(f"{place}/munge.key")
    if final.exists():
        return
    draft = final.with_name(f".munge.key.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o400)
    with open(handle, "wb") as file:
        file.write(base64.b64encode(os.urandom(_LENGTH)))
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, final)  # fails when another was first, and is whole or not there
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
    """Text like any other file of ours: munge takes any bytes for a key."""
    host.write(KEY, key, mode=0o400, owner="munge")
