"""Adds public keys to a user's account, in addition to the user's own."""

from __future__ import annotations

import errno
import fcntl
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Optional

from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.host import Host
from llm_fleet_node.marked_block import get_block, with_block
from llm_fleet_node.waiting import wait_for

_SECONDS = 10.0
"""Timeout for other nodes that write the same file, each for some hundredths of a second."""


def put_keys(host: Host, *, user: str, home: str, block: str, keys: Sequence[str]) -> None:
    """Write `keys` to the block `block` of the user's `authorized_keys`. Run it as the user (see `as_user`).

    Homes are shared: all nodes write the same file, with one block for each of two steps. A lock protects it if the
    file system has locks; otherwise `verify` detects a lost block, and the next attempt writes it.
    """
    folder = f"{home}/.ssh"
    host.folder(folder, mode=0o700, owner=user)
    path = f"{folder}/authorized_keys"
    with _alone(host, folder):
        text = with_block(host.read(path) or "", block, "".join(f"{key.strip()}\n" for key in keys))
        if text or host.read(path) is not None:
            host.write(path, text, mode=0o600, owner=user)


def check_keys(host: Host, *, home: str, block: str, keys: Sequence[str]) -> None:
    """Raise `Failure` unless the block `block` of `authorized_keys` has exactly `keys`."""
    path = f"{home}/.ssh/authorized_keys"
    if get_block(host, path, block).splitlines() != [key.strip() for key in keys]:
        fail(Code.HOME_UNUSABLE, f"{path} does not have the {block}")


def spoilt(host: Host, home: str) -> Optional[str]:
    """Describe what the user has done that prevents writing the keys; `None` if nothing.

    Only the user can fix it: homes are shared, and one user must not make all new nodes fail.
    """
    for path, kind, right in (
        (f"{home}/.ssh", "folder", stat.S_ISDIR),
        (f"{home}/.ssh/authorized_keys", "file", stat.S_ISREG),
    ):
        try:
            mode = host.path(path).lstat().st_mode
        except OSError:
            continue  # missing, or not readable for root: later checks find out
        if not right(mode):
            return f"{path} is not a {kind}"
    return None


@contextmanager
def _alone(host: Host, folder: str) -> Generator[None]:
    with host.path(f"{folder}/.llm-fleet.lock").open("w") as file:
        # The user owns the file and could lock it forever: no node waits for that.
        with suppress(Failure):
            wait_for("lock", lambda: _is_taken(file.fileno()), seconds=_SECONDS, code=Code.HOME_UNUSABLE)
        yield


def _is_taken(file: int) -> bool:
    """Return whether the lock was taken, or the file system has no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        if error.errno not in (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK):
            raise  # else: Lustre mounted without `flock`, or NFS without lockd
    return True
