"""The home directories of the fleet's users, and the shared file system."""

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
    """The place of home directories."""

    folder: str
    """Parent of the home directories, e.g. `/fsx/home`."""
    shared: bool
    """Whether it is the same folder on every node."""
    mount: Optional[str]
    """Mount point of its file system on this node; `None` if it is local."""

    def state(self) -> str:
        """Return the folder for data that nodes share. Not in a home directory: only root can write to it."""
        return f"{self.folder}/.llm-fleet"


def home_place(node: Node) -> HomePlace:
    """Return the place of home directories on this node: on a file system that every node mounts, if there is one.

    A file system mounted on `/home` comes first, then OpenZFS, which suits many small files, then Lustre. On these,
    homes have a separate parent folder, so that user names do not conflict with names of data.
    """
    everywhere = [mount for mount in node.manifest.mounts if _everywhere(node, mount.groups)]
    for mount in sorted(everywhere, key=lambda mount: (mount.mount_path != _HOME, mount.kind != "open_zfs")):
        path = mount.mount_path.rstrip("/")
        return HomePlace(path if path == _HOME else f"{path}/home", shared=True, mount=path)
    if node.manifest.platform == "parallelcluster":
        # ParallelCluster shares the head node's /home with all nodes over NFS.
        return HomePlace(_HOME, shared=True, mount=None if node.role == CONTROLLER else _HOME)
    return HomePlace(_HOME, shared=False, mount=None)


def homes(node: Node) -> dict[str, str]:
    """Return the home of each user by name. A user of the image keeps its own."""
    place, found = home_place(node), AccountFiles.of(node.host)
    return {user.name: _home(place, found, user) for user in node.manifest.users}


def is_mounted(host: Host, path: str) -> bool:
    """Return whether a file system is mounted on `path`."""
    mounts = (host.read("/proc/self/mounts") or "").splitlines()
    return path in {line.split(" ")[1].encode().decode("unicode_escape") for line in mounts if " " in line}


def check_mounted(host: Host, place: HomePlace) -> None:
    """Raise `Failure` if the homes' file system is not mounted: homes below an empty mount point would be lost."""
    if place.mount and not is_mounted(host, place.mount):
        fail(Code.HOME_UNUSABLE, f"nothing is mounted on {place.mount}, where the users' home directories must be")


def check_own_homes(node: Node) -> None:
    """Raise `Failure` if the file system of a user's `home` is not mounted."""
    for path in [mount.mount_path.rstrip("/") for mount in node.manifest.mounts]:
        names = [user.name for user in node.manifest.users if f"{user.home}/".startswith(f"{path}/")]
        if names and not is_mounted(node.host, path):
            fail(Code.HOME_UNUSABLE, f"nothing is mounted on {path}, where the home of {', '.join(names)} must be")


def _everywhere(node: Node, groups: Optional[tuple[str, ...]]) -> bool:
    return groups is None or {group.name for group in node.manifest.groups} <= set(groups)


def _home(place: HomePlace, found: AccountFiles, user: User) -> str:
    entry = found.user(user.name)
    if entry and entry.comment != COMMENT:
        return entry.home
    return user.home or f"{place.folder}/{user.name}"
