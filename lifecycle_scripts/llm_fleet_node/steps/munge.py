"""munged runs with the cluster's key, and can create and decode credentials."""

from __future__ import annotations

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.node import Node
from llm_fleet_node.slurm import munge_key, units
from llm_fleet_node.slurm.installation import found
from llm_fleet_node.step import EVERY_ROLE, ON_CREATE, ON_INIT_COMPLETE, Step
from llm_fleet_node.waiting import wait_for

_SECONDS = 60.0
"""Timeout for the platform's agent to write the key, which it does before it starts the scripts."""


def _apply(node: Node) -> None:
    if found(node.host).by_platform:
        wait_for(f"{munge_key.KEY}", lambda: _has_key(node.host), seconds=_SECONDS, code=Code.MUNGE_KEY)
    else:
        munge_key.bring(node)
    try:
        # An image that starts munge at boot has it running with the old key.
        units.start(node.host, "munge", reads=[munge_key.KEY])
    except CommandFailed as error:
        fail(Code.MUNGE_DOWN, error.cause)


def _has_key(host: Host) -> bool:
    key = host.path(munge_key.KEY)
    return key.exists() and key.stat().st_size > 0


def _verify(node: Node) -> None:
    host = node.host
    if not _has_key(host):
        fail(Code.MUNGE_KEY, f"there is no {munge_key.KEY}")
    (unit,) = units.look(host, "munge")
    if not unit.active:
        fail(Code.MUNGE_DOWN, "munge is not running")
    if units.is_older(host, unit.pid, [munge_key.KEY]):
        fail(Code.MUNGE_DOWN, f"munge runs with an old key: {munge_key.KEY} was written after its start")
    try:
        credential = host.run("munge", "--no-input", timeout=10)
        host.run("unmunge", "--output=/dev/null", input=credential, timeout=10)
    except CommandFailed as error:
        fail(Code.MUNGE_DOWN, error.cause)


STEP = Step(
    name="munge",
    summary="munged creates and decodes credentials with the cluster's key",
    roles=EVERY_ROLE,
    hooks=frozenset({ON_CREATE, ON_INIT_COMPLETE}),
    needs=("slurm_packages",),
    # Without a platform, nodes get the key from the shared file system.
    after=("mount_lustre", "mount_open_zfs"),
    apply=_apply,
    verify=_verify,
    timeout=300,
)
