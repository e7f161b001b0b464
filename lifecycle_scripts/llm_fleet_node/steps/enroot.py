"""Enroot stores images and containers on the disk for large data."""

from __future__ import annotations

import os
from typing import Optional

from llm_fleet_node import disks
from llm_fleet_node.containers import enroot
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed
from llm_fleet_node.node import Node
from llm_fleet_node.step import EVERY_ROLE, Step


def _apply(node: Node) -> None:
    """Set only the paths in Enroot's configuration."""
    enroot.put_settings(node.host, disks.read(node.host))


def _verify(node: Node) -> None:
    """Verify that no file of Enroot sets other paths, that Enroot uses them, and that they are on that disk."""
    host, layout = node.host, disks.read(node.host)
    problems = enroot.contradictions(host, layout)
    device = os.stat(host.path(layout.place)).st_dev
    for value in enroot.wanted(layout).values():
        folder = host.path(value.split("/user-")[0])
        if not folder.is_dir():
            problems.append(f"there is no folder {value}")
        elif folder.stat().st_dev != device:
            problems.append(f"{value} is on another disk than {layout.place}")
    if problems:
        fail(Code.CONTAINER_DISK, "; ".join(problems))
    try:
        enroot.try_it(host)
    except CommandFailed as error:
        fail(Code.CONTAINER_DISK, f"Enroot does not use {enroot.CONF}: {error.output.strip()}")


def _skip(node: Node) -> Optional[str]:
    """Skipped without Enroot, which only the AMI can contain."""
    return None if node.host.which("enroot") else "the node has no Enroot"


STEP = Step(
    name="enroot",
    summary="Enroot stores images and containers on the disk for large data",
    roles=EVERY_ROLE,
    apply=_apply,
    verify=_verify,
    needs=("disks",),
    skip=_skip,
)
