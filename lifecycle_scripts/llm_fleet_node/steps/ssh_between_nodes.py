"""SSH: users get from node to node without being asked anything, as debuggers and MPI launchers need it."""

from __future__ import annotations

import os
from functools import partial
from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.node import Node
from llm_fleet_node.step import COMPUTE, EVERY_ROLE, ON_CREATE, Step
from llm_fleet_node.users import host_keys
from llm_fleet_node.users.as_user import as_user
from llm_fleet_node.users.own_key import check_own_key, make_own_key, others_write
from llm_fleet_node.users.places import check_mounted, home_place, homes


def _apply(node: Node) -> None:
    """Tell the others this node's host keys, let ssh find theirs, and give each user a key to their own account."""
    place = home_place(node)
    check_mounted(node.host, place)
    folder = host_keys.keys_folder(node, place)
    if folder:
        host_keys.publish(node.host, folder, host_keys.own_names(node))
        _make_keys(node)
    else:
        node.say("no file system is shared by all nodes: users bring their keys by an agent (`ssh -A`)")
    host_keys.put_client_config(node.host, folder)


def _verify(node: Node) -> None:
    """Prove that sshd shows the host keys that all are told, and on nodes where people arrive, by a login of a user."""
    place = home_place(node)
    check_mounted(node.host, place)
    folder = host_keys.keys_folder(node, place)
    if not folder:
        _check_accepts_new(node.host)
        return
    host_keys.check_published(node.host, folder, host_keys.own_names(node))
    for name, home in homes(node).items():
        as_user(node.host, name, partial(check_own_key, home=home))
    if node.role == COMPUTE:
        # No login: an image may let in only whoever has a job there (pam_slurm_adopt), and nobody has one yet.
        host_keys.check_shown(node.host)
        return
    for name in [name for name, home in homes(node).items() if not others_write(node.host, home)][:1]:
        as_user(node.host, name, _log_in)


def _skip(node: Node) -> Optional[str]:
    """Nothing to do without users, or without ssh."""
    if not node.manifest.users and node.hook == ON_CREATE:
        return (
            "the fleet has no users, and with OnCreate the platform gives its own user, e.g. ubuntu, no key: ssh and "
            "mpirun from node to node do not work. Name people under `users`"
        )
    if not node.manifest.users:
        return "the fleet has no users; the platform lets its own user, e.g. ubuntu, from node to node"
    return None if node.host.which("ssh") else "the node has no ssh"


def _make_keys(node: Node) -> None:
    cluster, this = node.manifest.cluster or node.manifest.fleet, os.uname().nodename
    for name, home in homes(node).items():
        work = partial(make_own_key, user=name, home=home, comment=f"{name}@{cluster}", node_name=this)
        as_user(node.host, name, work)
        if others_write(node.host, home):
            # Their own doing, and theirs to undo: a node does not fail for it.
            node.say(f"{home} can be written by others: sshd takes no key of {name} until `chmod go-w {home}`")


def _log_in(host: Host) -> None:
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


def _check_accepts_new(host: Host) -> None:
    if "stricthostkeychecking accept-new" not in host.run("ssh", "-G", "ip-10-0-0-1").splitlines():
        fail(Code.SSH_BETWEEN_NODES, f"ssh does not go by {host_keys.CLIENT_CONFIG}: does ssh_config include it?")


STEP = Step(
    name="ssh_between_nodes",
    summary="users get from node to node by ssh without being asked anything",
    roles=EVERY_ROLE,
    apply=_apply,
    verify=_verify,
    needs=("users",),
    after=("hosts", "mount_open_zfs", "mount_lustre"),
    skip=_skip,
    timeout=120,
    retries=2,
)
