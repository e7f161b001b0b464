"""SSH: users get from node to node without being asked anything, as debuggers and MPI launchers need it.

In a fleet without users that is the platform's own, e.g. ubuntu, whom HyperPod gives a key unless the hook is OnCreate.
What keeps that one from getting in is a remark: nobody has asked for it, and the image's own keys may be in the way.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Optional

from llm_fleet_node.failures import Failure
from llm_fleet_node.node import Node
from llm_fleet_node.step import COMPUTE, EVERY_ROLE, ON_CREATE, Step
from llm_fleet_node.users import host_keys
from llm_fleet_node.users.account_files import AccountFiles, Entry
from llm_fleet_node.users.as_user import as_user
from llm_fleet_node.users.own_key import (
    check_own_key,
    check_shared_key,
    make_own_key,
    others_write,
    put_shared_key,
    read_shared_key,
    shared_key,
)
from llm_fleet_node.users.places import check_mounted, home_place, homes

_PLATFORM_USERS = ("ubuntu", "ec2-user")
"""Users that Ubuntu's and Amazon Linux's images bring along, whom HyperPod's documents log in as."""


def _apply(node: Node) -> None:
    _unless_for_the_platform(node, _set_up)


def _verify(node: Node) -> None:
    _unless_for_the_platform(node, _prove)


def _unless_for_the_platform(node: Node, work: Callable[[Node], None]) -> None:
    """Do `work`; a fleet without users has its failure as a remark."""
    try:
        work(node)
    except Failure as error:
        if node.manifest.users:
            raise
        node.say(f"the image's own user does not get from node to node: {error.cause}")


def _set_up(node: Node) -> None:
    """Tell the others this node's host keys, let ssh find theirs, and give each user a key to their own account."""
    place = home_place(node)
    check_mounted(node.host, place)
    folder = host_keys.keys_folder(node, place)
    if folder:
        host_keys.publish(node.host, folder, host_keys.own_names(node))
        _make_keys(node)
        user = _platform_user(node)
        if user:
            comment, this = f"{user.name}@{node.manifest.cluster or node.manifest.fleet}", os.uname().nodename
            keys = shared_key(node.host, _key_folder(node, user), comment=comment, node_name=this)
            as_user(node.host, user.name, partial(put_shared_key, user=user.name, home=user.home, keys=keys))
    else:
        node.say("no file system is shared by all nodes: users bring their keys by an agent (`ssh -A`)")
    host_keys.put_client_config(node.host, folder)


def _prove(node: Node) -> None:
    """Prove that sshd shows the host keys that all are told, and on nodes where people arrive, by a login of a user."""
    place = home_place(node)
    check_mounted(node.host, place)
    folder = host_keys.keys_folder(node, place)
    if not folder:
        host_keys.check_accepts_new(node.host)
        return
    host_keys.check_published(node.host, folder, host_keys.own_names(node))
    for name, home in homes(node).items():
        as_user(node.host, name, partial(check_own_key, home=home))
    user = _platform_user(node)
    if user:
        keys = read_shared_key(node.host, _key_folder(node, user))
        as_user(node.host, user.name, partial(check_shared_key, home=user.home, keys=keys))
    if node.role == COMPUTE:
        # No login: an image may let in only whoever has a job there (pam_slurm_adopt), and nobody has one yet.
        host_keys.check_shown(node.host)
        return
    arriving = {**homes(node), **({user.name: user.home} if user else {})}
    for name in [name for name, home in arriving.items() if not others_write(node.host, home)][:1]:
        as_user(node.host, name, host_keys.log_in)


def _skip(node: Node) -> Optional[str]:
    """Nothing to do without users, or without ssh."""
    if not node.manifest.users and node.hook != ON_CREATE:
        return "the fleet has no users; the platform lets its own user, e.g. ubuntu, from node to node"
    if not node.manifest.users and not (home_place(node).shared and _platform_user(node)):
        return (
            "the fleet has no users, and nothing is shared by all nodes that a key of the platform's own user, e.g. "
            "ubuntu, could be kept on: ssh and mpirun from node to node do not work"
        )
    return None if node.host.which("ssh") else "the node has no ssh"


def _platform_user(node: Node) -> Optional[Entry]:
    """Return the image's own user, where it is the only one that could get from node to node; else `None`."""
    if node.manifest.users or node.hook != ON_CREATE:
        return None
    accounts = AccountFiles.of(node.host)
    there = (accounts.user(name) for name in _PLATFORM_USERS)
    return next((user for user in there if user and node.host.path(user.home).is_dir()), None)


def _key_folder(node: Node, user: Entry) -> str:
    return f"{home_place(node).state()}/key-of-{user.name}/{node.manifest.cluster or node.manifest.fleet}"


def _make_keys(node: Node) -> None:
    cluster, this = node.manifest.cluster or node.manifest.fleet, os.uname().nodename
    for name, home in homes(node).items():
        work = partial(make_own_key, user=name, home=home, comment=f"{name}@{cluster}", node_name=this)
        as_user(node.host, name, work)
        if others_write(node.host, home):
            # Their own doing, and theirs to undo: a node does not fail for it.
            node.say(f"{home} can be written by others: sshd takes no key of {name} until `chmod go-w {home}`")


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
