"""Where the fleet's users have their homes, and what is shared of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.manifest_parts import User
from llm_fleet_node.node import Node
from llm_fleet_node.step import CONTROLLER
from llm_fleet_node.users.account_files import AccountFiles
from llm_fleet_node.users.accounts import COMMENT

_HOME = "/home"


@dataclass(frozen=True)
class HomePlace:
    """Where homes are."""

    folder: str
    """Holds a folder for each user, e.g. `/fsx/home`."""
    shared: bool
    """The same folder on every node."""
    mount: Optional[str]
    """Where its file system must be mounted on this node; `None` when it is the node's own."""

    def state(self) -> str:
        """Return the folder for what nodes tell each other. Not inside a home: nobody but root may write there."""
        return f"{self.folder}/.llm-fleet"


def home_place(node: Node) -> HomePlace:
    """Return where this node's users have their homes: on a file system that every node mounts, when there is one.

    A file system mounted on `/home` comes first, then OpenZFS, made for many small files, then Lustre. There, homes
    have a folder of their own, so that users' names and the data's names, perhaps a bucket's, cannot meet.
    """
    everywhere = [mount for mount in node.manifest.mounts if _everywhere(node, mount.groups)]
    for mount in sorted(everywhere, key=lambda mount: (mount.mount_path != _HOME, mount.kind != "open_zfs")):
        path = mount.mount_path.rstrip("/")
        return HomePlace(path if path == _HOME else f"{path}/home", shared=True, mount=path)
    if node.manifest.platform == "parallelcluster":
        # ParallelCluster shares the head node's /home with all others over NFS.
        return HomePlace(_HOME, shared=True, mount=None if node.role == CONTROLLER else _HOME)
    return HomePlace(_HOME, shared=False, mount=None)


def homes(node: Node) -> dict[str, str]:
    """Return each user's home by the user's name. One that the image brought along keeps its own."""
    place, found = home_place(node), AccountFiles.of(node.host)
    return {user.name: _home(place, found, user) for user in node.manifest.users}


def is_mounted(host: Host, path: str) -> bool:
    """Return whether a file system is mounted on `path`."""
    mounts = (host.read("/proc/self/mounts") or "").splitlines()
    return path in {line.split(" ")[1].encode().decode("unicode_escape") for line in mounts if " " in line}


def check_mounted(host: Host, place: HomePlace) -> None:
    """Raise `Failure` when the homes' file system is not there: homes below its empty mount point would be lost."""
    if place.mount and not is_mounted(host, place.mount):
        fail(Code.HOME_UNFIT, f"nothing is mounted on {place.mount}, where the users' homes are to be")


def check_own_homes(node: Node) -> None:
    """Raise `Failure` when a file system that someone's own `home` is on is not mounted here."""
    for path in [mount.mount_path.rstrip("/") for mount in node.manifest.mounts]:
        names = [user.name for user in node.manifest.users if f"{user.home}/".startswith(f"{path}/")]
        if names and not is_mounted(node.host, path):
            fail(Code.HOME_UNFIT, f"nothing is mounted on {path}, where the home of {', '.join(names)} is to be")


def _everywhere(node: Node, groups: Optional[tuple[str, ...]]) -> bool:
    return groups is None or {group.name for group in node.manifest.groups} <= set(groups)


def _home(place: HomePlace, found: AccountFiles, user: User) -> str:
    entry = found.user(user.name)
    if entry and entry.comment != COMMENT:
        return entry.home
    return user.home or f"{place.folder}/{user.name}"
