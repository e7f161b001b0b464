"""Makes a user's SSH key for logins between nodes: one key, because all nodes share the home directory.

The platform's own user, e.g. ubuntu, has a separate home on each node: its key is kept for root on the shared file
system, and each node has a copy.
"""

from __future__ import annotations

import os

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.users.authorized_keys import check_keys, put_keys

_BLOCK = "key between nodes"
_OTHERS_WRITE = 0o022


def make_own_key(host: Host, *, user: str, home: str, comment: str, node_name: str) -> None:
    """Make sure that the user has a key pair that is authorized for their account. Run it as the user (see `as_user`).

    The user's own key is used if there is one. A new one is made in a temporary folder and hard-linked: this succeeds
    on only one node, and the key is never incomplete.
    """
    folder = f"{home}/.ssh"
    host.folder(folder, mode=0o700, owner=user)
    key = f"{folder}/id_ed25519"
    _make_key(host, key, comment=comment, node_name=node_name, owner=user)
    put_keys(host, user=user, home=home, block=_BLOCK, keys=[host.read(f"{key}.pub") or ""])


def shared_key(host: Host, folder: str, *, comment: str, node_name: str) -> tuple[str, str]:
    """Return the private and the public key in `folder`, which only root can read; make them if missing."""
    host.folder(folder, mode=0o700)
    key = f"{folder}/id_ed25519"
    _make_key(host, key, comment=comment, node_name=node_name, owner="root")
    return read_shared_key(host, folder)


def read_shared_key(host: Host, folder: str) -> tuple[str, str]:
    """Return the private and the public key in `folder`; empty if it was not made."""
    return host.read(f"{folder}/id_ed25519") or "", host.read(f"{folder}/id_ed25519.pub") or ""


def put_shared_key(host: Host, *, user: str, home: str, keys: tuple[str, str]) -> None:
    """Write and authorize the key pair `keys`. Run it as the user. The user's own key is not changed."""
    private, public = keys
    folder = f"{home}/.ssh"
    host.folder(folder, mode=0o700, owner=user)
    key = f"{folder}/id_ed25519"
    if host.read(key) in (None, private):
        host.write(key, private, mode=0o600, owner=user)
        host.write(f"{key}.pub", public, owner=user)
    put_keys(host, user=user, home=home, block=_BLOCK, keys=[public])


def check_shared_key(host: Host, *, home: str, keys: tuple[str, str]) -> None:
    """Raise `Failure` unless the user has the pair `keys`, and it is authorized. Run it as the user."""
    if host.read(f"{home}/.ssh/id_ed25519") != keys[0]:
        fail(Code.SSH_BETWEEN_NODES, f"{home}/.ssh/id_ed25519 is not the key that the other nodes authorize")
    check_keys(host, home=home, block=_BLOCK, keys=[keys[1]])


def _make_key(host: Host, key: str, *, comment: str, node_name: str, owner: str) -> None:
    draft = f"{os.path.dirname(key)}/.llm-fleet-key-on-{node_name}"
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
        host.write(f"{key}.pub", public, owner=owner)


def check_own_key(host: Host, *, home: str) -> None:
    """Raise `Failure` unless the user's key is authorized for their own account. Run it as the user."""
    check_keys(host, home=home, block=_BLOCK, keys=[host.read(f"{home}/.ssh/id_ed25519.pub") or ""])
    for path in (f"{home}/.ssh", f"{home}/.ssh/authorized_keys"):
        if others_write(host, path):
            fail(Code.SSH_BETWEEN_NODES, f"{path} is writable for other users, so sshd ignores its keys (StrictModes)")


def others_write(host: Host, path: str) -> bool:
    """Return whether other users than the owner can write to `path`: sshd then ignores keys in it."""
    return bool(host.path(path).stat().st_mode & _OTHERS_WRITE)


def _remove(host: Host, draft: str) -> None:
    # Not recorded as changes: these files are temporary.
    for path in (draft, f"{draft}.pub"):
        host.path(path).unlink(missing_ok=True)
