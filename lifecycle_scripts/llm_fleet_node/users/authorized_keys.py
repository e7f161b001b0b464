"""Lets public keys into a user's account, beside those that the user put there."""

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
"""For other nodes to write the same file, each of which takes some hundredths."""


def put_keys(host: Host, *, user: str, home: str, block: str, keys: Sequence[str]) -> None:
    """Make the user's `authorized_keys` hold `keys` in the block `block`. To be run as the user (see `as_user`).

    Homes are shared: all nodes write the same file, two steps a block each. A lock keeps them apart where the file
    system has locks; without, a lost block is found by `verify` and written by the next attempt.
    """
    folder = f"{home}/.ssh"
    host.folder(folder, mode=0o700, owner=user)
    path = f"{folder}/authorized_keys"
    with _alone(host, folder):
        text = with_block(host.read(path) or "", block, "".join(f"{key.strip()}\n" for key in keys))
        if text or host.read(path) is not None:
            host.write(path, text, mode=0o600, owner=user)


def check_keys(host: Host, *, home: str, block: str, keys: Sequence[str]) -> None:
    """Raise `Failure` unless the block `block` of `authorized_keys` holds `keys` and nothing else."""
    path = f"{home}/.ssh/authorized_keys"
    if get_block(host, path, block).splitlines() != [key.strip() for key in keys]:
        fail(Code.HOME_UNFIT, f"{path} does not hold the {block}")


def spoilt(host: Host, home: str) -> Optional[str]:
    """Say what keeps the user's keys from being kept that only the user can have done; `None` when nothing does.

    That is theirs to undo: homes are shared, and one user must not keep all new nodes from their work.
    """
    for path, kind, right in (
        (f"{home}/.ssh", "folder", stat.S_ISDIR),
        (f"{home}/.ssh/authorized_keys", "file", stat.S_ISREG),
    ):
        try:
            mode = host.path(path).lstat().st_mode
        except OSError:
            continue  # not there yet, or not for root to see: what follows finds out
        if not right(mode):
            return f"{path} is no {kind}"
    return None


@contextmanager
def _alone(host: Host, folder: str) -> Generator[None]:
    with host.path(f"{folder}/.llm-fleet.lock").open("w") as file:
        # The file is the user's, who may hold it for good: no node waits for that.
        with suppress(Failure):
            wait_for("lock", lambda: _is_taken(file.fileno()), seconds=_SECONDS, code=Code.HOME_UNFIT)
        yield


def _is_taken(file: int) -> bool:
    """Return whether the lock is ours now, or the file system has no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        if error.errno not in (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK):
            raise  # else: Lustre mounted without `flock`, or NFS without lockd
    return True
