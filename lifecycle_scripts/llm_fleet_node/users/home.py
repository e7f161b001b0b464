"""Makes a user's home directory, once for all nodes."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.manifest_parts import User

_SKELETON = "/etc/skel"


def make_home(host: Host, user: User, home: str, node_name: str) -> None:
    """Make the user's `home` if it is missing. `node_name` distinguishes nodes that share its file system.

    A new one is filled in a temporary folder next to it and then renamed. So it is complete or missing; one of several
    nodes is first, and no node needs a lock, which a kill could leave behind.
    """
    draft = f"{home.rsplit('/', 1)[0]}/.{user.name}.new-on-{node_name}"
    if not os.path.lexists(host.path(home)):
        _remove(host.path(draft))
        _fill(host, draft, user)
        try:
            os.rename(host.path(draft), host.path(home))
            host.changes.append(f"made the home {home}")
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise  # else: another node was first
    _remove(host.path(draft))
    check_home(host, user, home, final=True)


def check_home(host: Host, user: User, home: str, *, final: bool = False) -> None:
    """Raise `Failure` unless `home` belongs to the user: `LFN160` if another user owns it. Never changes the owner."""
    problem = home_problem(host, user, home)
    if problem:
        is_foreign = host.path(home).is_dir()
        fail(Code.HOME_OWNER if is_foreign else Code.HOME_UNUSABLE, problem, final=final)


def home_problem(host: Host, user: User, home: str) -> Optional[str]:
    """Describe why `home` cannot be the user's; `None` if it can. Its content is not checked."""
    path = host.path(home)
    if not path.is_dir():
        return f"the folder {home} does not exist"
    owner = path.stat().st_uid
    if owner != _ids(host, user)[0]:
        return f"{home} belongs to uid {owner}, but must belong to {user.name} (uid {user.uid})"
    return None


def _fill(host: Host, draft: str, user: User) -> None:
    path = host.path(draft)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700)
    if host.path(_SKELETON).is_dir():
        shutil.copytree(host.path(_SKELETON), path, symlinks=True, dirs_exist_ok=True)
    # Never empty: a folder can be renamed over an empty one, and would replace that of another node.
    path.joinpath(".ssh").mkdir(mode=0o700, exist_ok=True)
    uid, gid = _ids(host, user)
    for found in (*path.rglob("*"), path):
        os.chown(found, uid, gid, follow_symlinks=False)
    path.chmod(0o700)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)


def _ids(host: Host, user: User) -> tuple[int, int]:
    return (user.uid, user.gid) if host.root == Path("/") else (os.geteuid(), os.getegid())
