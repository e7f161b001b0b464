"""The fleet's users, with the same ids on every node, home directories, keys and sudo rights."""

from __future__ import annotations

import os
from functools import partial
from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.node import Node
from llm_fleet_node.step import EVERY_ROLE, Step
from llm_fleet_node.users import accounts, home, places, sudo
from llm_fleet_node.users.account_files import AccountFiles
from llm_fleet_node.users.as_user import as_user
from llm_fleet_node.users.authorized_keys import check_keys, put_keys, spoilt

_BLOCK = "keys of the fleet file"


def _apply(node: Node) -> None:
    """Make accounts, homes, keys and sudo rights. Removed users keep account and files: see the log."""
    host, users = node.host, node.manifest.users
    place, wanted = places.home_place(node), places.homes(node)
    places.check_mounted(host, place)
    places.check_own_homes(node)
    for name in accounts.no_longer_wanted(AccountFiles.of(host), users):
        node.say(f"{name} is no longer in the fleet file: sudo is removed, account and files are kept")
    accounts.make_accounts(host, users, wanted)
    if users:
        host.folder(place.folder)
    for user in users:
        where, keys = wanted[user.name], user.ssh_public_keys
        if user.home:
            host.path(where).parent.mkdir(parents=True, exist_ok=True)
        home.make_home(host, user, where, os.uname().nodename)
        if _is_spoilt(node, where):
            continue
        as_user(host, user.name, partial(put_keys, user=user.name, home=where, block=_BLOCK, keys=keys))
    sudo.put_sudoers(host, users)


def _verify(node: Node) -> None:
    """Verify ids, home directory, keys and sudo rights of each user, and that passwords are locked."""
    host, users = node.host, node.manifest.users
    found, wanted = AccountFiles.of(host), places.homes(node)
    places.check_mounted(host, places.home_place(node))
    problems = accounts.conflicts(found, users) + accounts.missing(found, users, wanted)
    if problems:
        fail(Code.USER_IDS, "; ".join(problems))
    for user in users:
        where, keys = wanted[user.name], user.ssh_public_keys
        home.check_home(host, user, where)
        if _is_spoilt(node, where):
            continue
        as_user(host, user.name, partial(check_keys, home=where, block=_BLOCK, keys=keys))
    problem = sudo.sudo_problem(host, users)
    if problem:
        fail(Code.SUDOERS, problem)


def _is_spoilt(node: Node, home: str) -> bool:
    """Return whether the user's own changes prevent keys, and log it."""
    problem = spoilt(node.host, home)
    if problem:
        node.say(f"{problem}: the user cannot log in with the fleet's keys until this is fixed")
    return problem is not None


def _skip(node: Node) -> Optional[str]:
    """Skipped if the fleet has no users, and never had any on this node."""
    if node.manifest.users or accounts.no_longer_wanted(AccountFiles.of(node.host), ()):
        return None
    return "the fleet has no users"


STEP = Step(
    name="users",
    summary="the fleet's users have accounts, home directories, keys and sudo",
    roles=EVERY_ROLE,
    apply=_apply,
    verify=_verify,
    # A node without its directory's users must not run their jobs: slurmd needs the users.
    needs=("directory",),
    after=("hosts", "mount_open_zfs", "mount_lustre"),
    skip=_skip,
    timeout=120,
    retries=2,
)
