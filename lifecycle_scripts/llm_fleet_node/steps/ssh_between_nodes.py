"""SSH between nodes without prompts, as debuggers and MPI launchers need it.

In a fleet without users this is for the platform's own user, e.g. ubuntu, which gets a key from HyperPod unless the
hook is OnCreate. Errors of that user are only logged: it is not configured, and the image's own keys can interfere.
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
"""Users of Ubuntu's and Amazon Linux's images, which HyperPod's documentation uses."""


def _apply(node: Node) -> None:
    _unless_for_the_platform(node, _set_up)


def _verify(node: Node) -> None:
    _unless_for_the_platform(node, _prove)


def _unless_for_the_platform(node: Node, work: Callable[[Node], None]) -> None:
    """Run `work`; in a fleet without users, only log its failure."""
    try:
        work(node)
    except Failure as error:
        if node.manifest.users:
            raise
        node.say(f"the image's own user cannot log in between nodes: {error.cause}")


def _set_up(node: Node) -> None:
    """Share this node's host keys, configure ssh to find the others', and make each user's key."""
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
        node.say("the nodes share no file system: users need an SSH agent (`ssh -A`)")
    host_keys.put_client_config(node.host, folder)


def _prove(node: Node) -> None:
    """Verify sshd's host keys, and on login nodes and controllers a user's login."""
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
        # No login: an image can require a job on the node for logins (pam_slurm_adopt), and there is none yet.
        host_keys.check_shown(node.host)
        return
    arriving = {**homes(node), **({user.name: user.home} if user else {})}
    for name in [name for name, home in arriving.items() if not others_write(node.host, home)][:1]:
        as_user(node.host, name, host_keys.log_in)


def _skip(node: Node) -> Optional[str]:
    """Skipped without users or without ssh."""
    if not node.manifest.users and node.hook != ON_CREATE:
        return "the fleet has no users; the platform sets up ssh between nodes for its own user, e.g. ubuntu"
    if not node.manifest.users and not (home_place(node).shared and _platform_user(node)):
        return (
            "the fleet has no users, and the nodes share no file system for a key of the platform's own user, e.g. "
            "ubuntu: ssh and mpirun between nodes do not work"
        )
    return None if node.host.which("ssh") else "the node has no ssh"


def _platform_user(node: Node) -> Optional[Entry]:
    """Return the image's own user if the fleet has no other users; otherwise `None`."""
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
            # Only the user can fix it: the node does not fail.
            node.say(f"{home} is writable for others: sshd ignores keys of {name} until `chmod go-w {home}`")


STEP = Step(
    name="ssh_between_nodes",
    summary="users can use ssh between nodes without prompts",
    roles=EVERY_ROLE,
    apply=_apply,
    verify=_verify,
    needs=("users",),
    after=("hosts", "mount_open_zfs", "mount_lustre"),
    skip=_skip,
    timeout=120,
    retries=2,
)
