"""Gives a user a key of their own with which they get from node to node: one, since all nodes share the home."""

from __future__ import annotations

import os

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.users.authorized_keys import check_keys, put_keys

_BLOCK = "key between nodes"
_OTHERS_WRITE = 0o022


def make_own_key(host: Host, *, user: str, home: str, comment: str, node_name: str) -> None:
    """Make sure that the user has a key pair that opens their own account. To be run as the user (see `as_user`).

    A key that they made themselves is used as it is. A new one is made aside and hard-linked to its place: that works
    for one node of many only, and the key is never there in part.
    """
    folder = f"{home}/.ssh"
    host.folder(folder, mode=0o700, owner=user)
    key, draft = f"{folder}/id_ed25519", f"{folder}/.llm-fleet-key-on-{node_name}"
    _remove(host, draft)
    if not os.path.lexists(host.path(key)):
        host.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(host.path(draft)))
        try:
            os.link(host.path(draft), host.path(key))
            host.changes.append(f"made the key {key}")
        except FileExistsError:
            pass  # another node was first
        _remove(host, draft)
    if host.read(f"{key}.pub") is None:
        public = host.run("ssh-keygen", "-y", "-P", "", "-f", str(host.path(key)))
        host.write(f"{key}.pub", public, owner=user)
    put_keys(host, user=user, home=home, block=_BLOCK, keys=[host.read(f"{key}.pub") or ""])


def check_own_key(host: Host, *, home: str) -> None:
    """Raise `Failure` unless the user's key opens their own account. To be run as the user."""
    check_keys(host, home=home, block=_BLOCK, keys=[host.read(f"{home}/.ssh/id_ed25519.pub") or ""])
    for path in (f"{home}/.ssh", f"{home}/.ssh/authorized_keys"):
        if others_write(host, path):
            fail(Code.SSH_BETWEEN_NODES, f"{path} can be written by others, so sshd takes no key from it (StrictModes)")


def others_write(host: Host, path: str) -> bool:
    """Return whether others than its owner may write to `path`: sshd then takes no key from it, or from below it."""
    return bool(host.path(path).stat().st_mode & _OTHERS_WRITE)


def _remove(host: Host, draft: str) -> None:
    # Not told as changes: of a key that is made, nothing of them is left.
    for path in (draft, f"{draft}.pub"):
        host.path(path).unlink(missing_ok=True)
