"""An unhealthy node is drained with the reason, and resumed when it is healthy again.

slurmd runs the check if llm-fleet can add it to slurm.conf; otherwise a timer does, and on controllers. They cannot be
drained: there the timer's unit fails, with the reason in its journal.
"""

from __future__ import annotations

import os
from typing import Optional

from llm_fleet_node.devices.expectation import (
    expected_accelerators,
    expected_interfaces,
    needs_every_interface,
    why_none,
)
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.node import Node
from llm_fleet_node.slurm import conf_file, health_timer
from llm_fleet_node.slurm.daemon_folders import LEAST_FREE_MIB, spool_folder, state_folder
from llm_fleet_node.slurm.installation import find
from llm_fleet_node.slurm.node_programs import EPILOG, EXPECTED, FOLDER, HEALTH_CHECK, PROLOG, SOURCE
from llm_fleet_node.slurm.registration import configuration
from llm_fleet_node.step import COMPUTE, CONTROLLER, EVERY_ROLE, LOGIN, ON_CREATE, Step

_LEAST_FREE = 3
"""Minimum free percent of the root disk. Below, jobs and logs fail with unclear errors."""
_DEVICES = {"neuron": "/dev/neuron[0-9]*", "gpu": "/proc/driver/nvidia/gpus/*"}
_EFA = "/sys/class/infiniband/*"


def _expected(node: Node) -> str:
    """Return the expectations on this node, in the format of `node_files/slurm/health_check.sh`."""
    lines = [f"disk / {_LEAST_FREE}", f"room {_daemon_folder(node)} {LEAST_FREE_MIB}"]
    lines += [f"mount {mount.mount_path} rw" for mount in node.manifest.mounts if _is_ours(node, mount.groups)]
    lines += [
        f"mount {mount.mount_path} {'ro' if mount.read_only else 'rw'}"
        for mount in node.manifest.s3_mounts
        if _is_ours(node, mount.groups)
    ]
    for kind, pattern in _DEVICES.items():
        count = expected_accelerators(node)
        if count and why_none(node, kind) is None and _is_taken(node, f"{kind}_devices"):
            lines.append(f"devices {pattern} {count}")
    interfaces = expected_interfaces(node)
    if interfaces and node.role == COMPUTE and _is_taken(node, "efa_devices") and needs_every_interface(node):
        lines.append(f"devices {_EFA} {interfaces}")
    return "# Written by llm-fleet.\n" + "".join(f"{line}\n" for line in lines)


def _daemon_folder(node: Node) -> str:
    """Return the state folder of the node's Slurm daemon."""
    slurm = find(node.host)
    if node.role == CONTROLLER:
        return state_folder(conf_file.read(node.host, slurm.etc) if slurm else None)
    return spool_folder(node.host, configuration(node.host) if slurm else None)


def _is_ours(node: Node, groups: tuple[str, ...] | None) -> bool:
    return groups is None or node.group.name in groups


def _is_taken(node: Node, step: str) -> bool:
    """A skipped step also removes its checks here."""
    return step not in node.manifest.steps.skip


def _programs(node: Node) -> dict[str, str]:
    source = node.places.bundle / SOURCE
    wanted = (HEALTH_CHECK,) if node.role == CONTROLLER else (HEALTH_CHECK, PROLOG, EPILOG)
    return {path: (source / path.rsplit("/", 1)[1]).read_text(encoding="utf-8") for path in wanted}


def _by_slurmd(node: Node) -> bool:
    if node.role == CONTROLLER:
        return False
    return node.hook == ON_CREATE and all(group.hook == ON_CREATE for group in node.manifest.groups)


def _apply(node: Node) -> None:
    host = node.host
    host.folder(FOLDER)
    for path, text in _programs(node).items():
        host.write(path, text, mode=0o755)
    host.write(EXPECTED, _expected(node))
    if _by_slurmd(node):
        health_timer.take_away(host)
    else:
        health_timer.put(host, drains=node.role != CONTROLLER)


def _verify(node: Node) -> None:
    host = node.host
    changed = [path for path, text in _programs(node).items() if host.read(path) != text or not _runs(host, path)]
    if changed or host.read(EXPECTED) != _expected(node):
        fail(Code.HEALTH_CHECK, f"{', '.join(changed) or EXPECTED} does not match this bundle")
    if not _by_slurmd(node) and not health_timer.runs(host):
        fail(Code.HEALTH_CHECK, f"{health_timer.NAME}.timer does not run")
    if node.role == CONTROLLER:
        return  # slurm_ready runs the check after slurmctld has made its folder
    try:
        host.run(str(host.path(HEALTH_CHECK)), "--report", timeout=90)
    except CommandFailed as error:
        fail(Code.HEALTH_CHECK, f"this node is unhealthy: {error.output.strip()}")


def _runs(host: Host, path: str) -> bool:
    """Return whether it is executable: slurmd drains a node whose prolog is not."""
    return os.access(host.path(path), os.X_OK)


def _skip(node: Node) -> Optional[str]:
    """Slurm has login nodes on HyperPod only."""
    if node.on_parallelcluster and node.role == LOGIN:
        return "login nodes of AWS ParallelCluster are not nodes in Slurm"
    return None


STEP = Step(
    name="health_check",
    summary="an unhealthy node is drained; an unhealthy controller is reported",
    roles=EVERY_ROLE,
    after=(
        "slurm_conf",
        "disks",
        "mount_lustre",
        "mount_open_zfs",
        "mount_s3",
        "neuron_devices",
        "gpu_devices",
        "efa_devices",
    ),
    apply=_apply,
    verify=_verify,
    skip=_skip,
    timeout=120,
)
