"""Shares the host keys of a cluster's nodes, so that ssh needs no confirmation and still detects impostors.

Each node writes its keys to a folder of the shared file system that only root can write, with a file for each of its
names, and `ssh` reads the file of the node that it connects to (`KnownHostsCommand`, OpenSSH 8.5 and later). So there
is no list that many nodes write, no outdated list after a node was replaced, and no certificate authority with a
secret key. Host key checking is always on. Without a shared file system the first key of a node is accepted and stored
(`accept-new`), only for names of nodes.
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
"""Timeout: images have no host keys; the first start of sshd makes them."""
_PENALTY_SECONDS = 40
"""sshd of OpenSSH 9.8 and later adds a penalty of one second to an address for each connection without a login, and
from 15 on closes its connections until the penalty has passed (sshd_config, PerSourcePenalties). Scripts that run
repeatedly within seconds reach it; a connection that is closed immediately does not count. With OpenSSH 10.0 the 18th
connection within seconds was rejected, and 17 s later none was."""
_TURNED_AWAY = ("closed by remote host", "reset by peer")
"""Messages of ssh-keyscan for a connection that sshd closes, before or after the first byte."""

_LOOK_UP = """\
#!/bin/sh
# Written by llm-fleet. Prints the host keys of one node of this cluster, for ssh's KnownHostsCommand.
# It prints nothing for other hosts, and never fails: ssh then uses its other files.
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
# Written by llm-fleet: the host keys of this cluster's nodes, which each node writes to the shared file system.
Host *
    KnownHostsCommand {PROGRAM} %H
"""
_ALONE = """\
# Written by llm-fleet: without a shared file system, no node can have the other nodes' host keys in advance.
Host ip-*
    StrictHostKeyChecking accept-new
"""


def put_client_config(host: Host, folder: str) -> None:
    """Configure ssh to read host keys from `folder`; empty for a node without a shared file system."""
    if not folder:
        host.write(CLIENT_CONFIG, _ALONE)
        return
    # ssh runs it as the user, and rejects it unless only root can write it.
    host.write(PROGRAM, _LOOK_UP.format(folder=shlex.quote(str(host.path(folder)))), mode=0o755)
    host.write(CLIENT_CONFIG, _SHARED)


def keys_folder(node: Node, place: HomePlace) -> str:
    """Return the folder of the cluster's host keys; empty if all nodes share no file system."""
    return f"{place.state()}/ssh/{node.manifest.cluster or node.manifest.fleet}" if place.shared else ""


def publish(host: Host, folder: str, names: Sequence[str]) -> None:
    """Write this node's host keys to `folder`, for each of its `names`."""
    lines = wait_for("host key in /etc/ssh", lambda: _own_keys(host), seconds=_SECONDS, code=Code.SSH_BETWEEN_NODES)
    host.folder(folder)
    for name in names:
        host.write(f"{folder}/{name}", "".join(f"{name} {line}\n" for line in lines))


def check_published(host: Host, folder: str, names: Sequence[str]) -> None:
    """Raise `Failure` unless ssh's KnownHostsCommand prints this node's host keys."""
    for name in names:
        reported = host.run(str(host.path(PROGRAM)), name)
        if reported.splitlines() != [f"{name} {line}" for line in _own_keys(host)]:
            fail(Code.SSH_BETWEEN_NODES, f"{folder}/{name} does not have this node's host keys")


def check_shown(host: Host) -> None:
    """Raise `Failure` unless this node's sshd answers with one of the shared host keys."""
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
    """Return the host key of sshd; empty while it closes connections. Raises `Failure` for other errors.

    Key types are tried one by one, because each connection adds a penalty.
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
    """Raise `Failure` unless ssh can log in to this node by its host name without a prompt. Run it as the user."""
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
    """Raise `Failure` unless ssh accepts the first host key of a node, as `put_client_config` configures."""
    if "stricthostkeychecking accept-new" not in host.run("ssh", "-G", "ip-10-0-0-1").splitlines():
        fail(Code.SSH_BETWEEN_NODES, f"ssh does not use {CLIENT_CONFIG}: check that ssh_config includes it")


def own_names(node: Node) -> list[str]:
    """Return the names by which others connect to this node: its host name, and its address if known."""
    own = set(node.identity.addresses)
    listed = [*(instance.address for instance in node.identity.neighbors), *node.identity.controllers]
    addresses = {address for address in listed if address in own}
    return [os.uname().nodename, *sorted(addresses)]


def _own_keys(host: Host) -> list[str]:
    texts = (host.read(f"/etc/ssh/{path.name}") for path in sorted(host.path("/etc/ssh").glob("ssh_host_*_key.pub")))
    # The comment after the key names the machine that made it, and is not needed.
    return [" ".join(text.split()[:2]) for text in texts if text and len(text.split()) > 1]
