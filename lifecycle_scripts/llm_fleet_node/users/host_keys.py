"""Lets each node of a cluster know every other's host keys, so that ssh asks nobody and still lets no impostor in.

Each node writes its own keys into a folder of the shared file system that only root may write, a file for each of its
names, and `ssh` reads the one file of the node that it calls (`KnownHostsCommand`, OpenSSH 8.5 and later). So there is
no list to be kept by many nodes at once, none that is old after a node was replaced, and no certificate authority whose
key must be kept secret. Checking is switched off nowhere. Without a shared file system there is nobody to tell the keys
to: the first one that a node shows is taken and held to (`accept-new`), for names of nodes alone.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.node import Node
from llm_fleet_node.users.places import HomePlace
from llm_fleet_node.waiting import wait_for

CLIENT_CONFIG = "/etc/ssh/ssh_config.d/50-llm-fleet.conf"
PROGRAM = "/usr/local/libexec/llm-fleet-known-hosts"
_SECONDS = 30
"""Images are made without host keys; the first start of sshd makes them."""
_PENALTY_SECONDS = 40
"""sshd of OpenSSH 9.8 and later counts a second against an address for each connection that asks for a key and logs
nobody in, and from 15 on closes its connections until they are over (sshd_config, PerSourcePenalties). Scripts that are
run again and again within seconds get there; a connection that is closed at once counts nothing. With OpenSSH 10.0
the 18th look within seconds was refused, and 17 s later none was."""
_TURNED_AWAY = ("closed by remote host", "reset by peer")
"""What ssh-keyscan says of a connection that sshd closes, before or after the first byte is read."""

_LOOK_UP = """\
#!/bin/sh
# Written by llm-fleet. Prints the host keys of one node of this cluster, for ssh's KnownHostsCommand.
# It says nothing of other hosts, and never fails: ssh then goes by its other files.
case "$1" in
  "" | .* | *[!A-Za-z0-9.:-]*) exit 0 ;;
esac
[ -f {folder}/"$1" ] || exit 0
while IFS= read -r line; do
  printf '%s\\n' "$line"
done <{folder}/"$1"
exit 0
"""
_SHARED = f"""\
# Written by llm-fleet: the host keys of this cluster's nodes, as each node tells them on the shared file system.
Host *
    KnownHostsCommand {PROGRAM} %H
"""
_ALONE = """\
# Written by llm-fleet: without a shared file system, no node can know another's host keys beforehand.
Host ip-*
    StrictHostKeyChecking accept-new
"""


def put_client_config(host: Host, folder: str) -> None:
    """Let ssh look into `folder` for host keys; empty for a node that shares nothing with others."""
    if not folder:
        host.write(CLIENT_CONFIG, _ALONE)
        return
    # ssh runs it as the user, and refuses it unless it is root's alone.
    host.write(PROGRAM, _LOOK_UP.format(folder=shlex.quote(str(host.path(folder)))), mode=0o755)
    host.write(CLIENT_CONFIG, _SHARED)


def keys_folder(node: Node, place: HomePlace) -> str:
    """Return the folder of the cluster's host keys; empty when there is no file system that all nodes share."""
    return f"{place.state()}/ssh/{node.manifest.cluster or node.manifest.fleet}" if place.shared else ""


def publish(host: Host, folder: str, names: Sequence[str]) -> None:
    """Write this node's host keys into `folder`, for each of its `names`."""
    lines = wait_for("host key in /etc/ssh", lambda: _own_keys(host), seconds=_SECONDS, code=Code.SSH_BETWEEN_NODES)
    host.folder(folder)
    for name in names:
        host.write(f"{folder}/{name}", "".join(f"{name} {line}\n" for line in lines))


def check_published(host: Host, folder: str, names: Sequence[str]) -> None:
    """Raise `Failure` unless ssh would be told the keys that this node's sshd has, by the very program it asks."""
    for name in names:
        reported = host.run(str(host.path(PROGRAM)), name)
        if reported.splitlines() != [f"{name} {line}" for line in _own_keys(host)]:
            fail(Code.SSH_BETWEEN_NODES, f"{folder}/{name} does not hold this node's host keys")


def check_shown(host: Host) -> None:
    """Raise `Failure` unless this node's sshd answers, and shows one of its host keys that others are told."""
    name = os.uname().nodename
    shown = wait_for(
        f"answer of sshd at {name}, which closes each connection (PerSourcePenalties?),",
        lambda: _shown(host, name),
        seconds=_PENALTY_SECONDS,
        code=Code.SSH_BETWEEN_NODES,
    )
    if not shown <= set(_own_keys(host)):
        fail(Code.SSH_BETWEEN_NODES, f"sshd at {name} shows other keys than those in /etc/ssh: {sorted(shown)}")


def _shown(host: Host, name: str) -> set[str]:
    """Return the host key that sshd shows; nothing while it closes connections. Raises `Failure` for another refusal.

    One kind of key after the other, as each is a connection that counts against this node.
    """
    said = ""
    for kind in ("ed25519", "ecdsa", "rsa"):
        try:
            shown = host.run("ssh-keyscan", "-T", "10", "-t", kind, name, timeout=30)
        except CommandFailed as error:
            said = error.output.strip()
            if any(words in said for words in _TURNED_AWAY):
                return set()
            continue
        keys = {line.split(" ", 1)[1] for line in shown.splitlines() if " " in line and not line.startswith("#")}
        if keys:
            return keys
    fail(Code.SSH_BETWEEN_NODES, f"sshd does not answer at {name}: {said or 'it shows no host key'}")


def log_in(host: Host) -> None:
    """Raise `Failure` unless ssh gets onto this node by its host name, asked nothing. To be run as the user."""
    options = (
        "BatchMode=yes",
        "StrictHostKeyChecking=yes",
        "UserKnownHostsFile=/dev/null",
        "GlobalKnownHostsFile=/dev/null",
        "UpdateHostKeys=no",
        "ConnectTimeout=10",
    )
    command = ["ssh", *(word for option in options for word in ("-o", option)), os.uname().nodename, "true"]
    try:
        host.run(*command, timeout=30)
    except CommandFailed as error:
        fail(Code.SSH_BETWEEN_NODES, str(error.cause))


def check_accepts_new(host: Host) -> None:
    """Raise `Failure` unless ssh takes the first host key that a node shows, as `put_client_config` says."""
    if "stricthostkeychecking accept-new" not in host.run("ssh", "-G", "ip-10-0-0-1").splitlines():
        fail(Code.SSH_BETWEEN_NODES, f"ssh does not go by {CLIENT_CONFIG}: does ssh_config include it?")


def own_names(node: Node) -> list[str]:
    """Return the names by which others call this node: its host name, and its address where it is known for sure."""
    own = set(node.identity.addresses)
    listed = [*(instance.address for instance in node.identity.neighbors), *node.identity.controllers]
    addresses = {address for address in listed if address in own}
    return [os.uname().nodename, *sorted(addresses)]


def _own_keys(host: Host) -> list[str]:
    texts = (host.read(f"/etc/ssh/{path.name}") for path in sorted(host.path("/etc/ssh").glob("ssh_host_*_key.pub")))
    # The comment behind the key names the machine that made it, and means nothing here.
    return [" ".join(text.split()[:2]) for text in texts if text and len(text.split()) > 1]
