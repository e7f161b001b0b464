"""Mounts a remote file system, now and after each reboot, and diagnoses errors."""

from __future__ import annotations

import time

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.marked_block import get_block, put_block
from llm_fleet_node.mounts.diagnosis import why_not_mounted
from llm_fleet_node.mounts.identity import check_device
from llm_fleet_node.mounts.remote import Remote
from llm_fleet_node.mounts.table import mounted_at
from llm_fleet_node.waiting import pause

FSTAB = "/etc/fstab"
_ONE_TRY = 60.0
"""Timeout of mount(8) in seconds: with a closed port it would wait for minutes."""
_PAUSE = 1.0


def ensure_mounted(host: Host, remote: Remote, *, seconds: float) -> None:
    """Make sure that `remote` is mounted at its path. Raises `Failure` if it is not within `seconds`.

    Mounts of the platform are not changed, also in `/etc/fstab`.
    """
    there = mounted_at(host, remote.path)
    if there is not None:
        check_device(host, remote, there)
        return
    if host.which(remote.client) is None:
        fail(Code.STORAGE_CLIENT, f"{remote.client} is not on this node", final=True)
    if not host.path(remote.path).is_dir():
        host.folder(remote.path)
    if not _someone_else_lists(host, remote):
        # First, because a mount without this entry is taken for one of the platform.
        put_block(host, FSTAB, remote.block, remote.fstab)
    _mount(host, remote, seconds)


def _mount(host: Host, remote: Remote, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            host.run("mount", remote.path, timeout=_ONE_TRY, changes=f"mounted {remote.device} at {remote.path}")
        except CommandFailed as error:
            reason = why_not_mounted(host, remote, error)
            if reason.final or time.monotonic() + _PAUSE > deadline:
                raise reason from error
            pause(_PAUSE)  # mount(8) and the diagnosis have waited already: this pause only protects the server
        else:
            return


def _someone_else_lists(host: Host, remote: Remote) -> bool:
    """Return whether `/etc/fstab` has an entry for the path that llm-fleet did not write."""
    ours = get_block(host, FSTAB, remote.block).splitlines()
    for line in (host.read(FSTAB) or "").splitlines():
        words = line.split("#")[0].split()
        if len(words) > 1 and words[1].rstrip("/") == remote.path.rstrip("/") and line not in ours:
            return True
    return False
