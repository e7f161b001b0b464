"""Large data is on one disk: the instance store if there is one, otherwise a secondary volume, otherwise root."""

from __future__ import annotations

import json

from llm_fleet_node.disks import FILE, read
from llm_fleet_node.disks.build import build, can_build, mount, own_array
from llm_fleet_node.disks.device import Device, devices
from llm_fleet_node.disks.layout import Layout
from llm_fleet_node.disks.plan import DLAMI_NVME, OWN_NVME, Plan, instance_store, plan
from llm_fleet_node.disks.space import LEAST_FREE_ON_ROOT, prove_space
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.mounts.proof import prove_writable
from llm_fleet_node.mounts.table import mounted, mounted_at
from llm_fleet_node.node import Node
from llm_fleet_node.parallelcluster_files import CFNCONFIG, read_cfnconfig
from llm_fleet_node.step import EVERY_ROLE, Step

_DLAMI_UNIT = "dlami-nvme.service"
_UNIT_FOLDERS = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
_EVERYBODYS = 0o1777
_UNIT_SECONDS = 180.0
"""Timeout to make an array and a file system of up to eight disks."""


def _apply(node: Node) -> None:
    host = node.host
    found = devices(host)
    platform_builds = node.on_parallelcluster or _let_the_ami_mount(host, found)
    if own_array(host, found) and mounted_at(host, OWN_NVME) is None:
        mount(host, own_array(host, found), OWN_NVME)
    scratch = read_cfnconfig(host.path(CFNCONFIG)).scratch if node.on_parallelcluster else None
    decided = _decide(host, found, may_build=not platform_builds, scratch=scratch)
    node.say(f"large data goes to {decided.place}: {decided.why}")
    if decided.idle:
        node.say(f"not used, because they are in use or no array can be made of them: {', '.join(decided.idle)}")
    if decided.build_from:
        build(host, [disk for disk in found if disk.name in decided.build_from], decided.place)
    layout = Layout.on(decided.place, decided.kind)
    if _is_scratch_itself(node, layout):
        host.folder(layout.place, mode=_EVERYBODYS)
    for folder, mode in layout.folders().items():
        host.folder(folder, mode=mode)
    host.write(FILE, json.dumps(layout.as_document(), indent=2) + "\n")


def _is_scratch_itself(node: Node, layout: Layout) -> bool:
    """ParallelCluster mounts the instance store at the jobs' scratch folder: `EphemeralVolume/MountDir`."""
    return node.on_parallelcluster and layout.kind == "nvme"


def _decide(host: Host, found: list[Device], *, may_build: bool, scratch: str | None) -> Plan:
    able = may_build and can_build(host, len(instance_store(found)))
    return plan(found, mounted(host), may_build=able, scratch=scratch)


def _let_the_ami_mount(host: Host, found: list[Device]) -> bool:
    """Wait until the AMI's own service has mounted the instance store; return whether that service exists."""
    has_unit = any(host.path(f"{folder}/{_DLAMI_UNIT}").exists() for folder in _UNIT_FOLDERS)
    if not (has_unit and instance_store(found)):
        return False
    if mounted_at(host, DLAMI_NVME) is None:
        try:
            # Returns when it is finished, also if it was already running.
            host.run("systemctl", "start", _DLAMI_UNIT, timeout=_UNIT_SECONDS, changes=f"started {_DLAMI_UNIT}")
        except CommandFailed as error:
            fail(Code.DISK_MISSING, f"{_DLAMI_UNIT} has not mounted {DLAMI_NVME}: {error.output.strip()}")
        if mounted_at(host, DLAMI_NVME) is None:
            disks = ", ".join(instance_store(found))
            fail(Code.DISK_MISSING, f"{_DLAMI_UNIT} has ended, but {DLAMI_NVME} is not mounted; disks: {disks}")
    return True


def _verify(node: Node) -> None:
    host = node.host
    layout = read(host)
    if layout.kind != "root" and mounted_at(host, layout.place) is None:
        fail(Code.DISK_MISSING, f"large data goes to {layout.place}, but nothing is mounted there")
    own = {layout.place: _EVERYBODYS} if _is_scratch_itself(node, layout) else {}
    for folder, mode in {**own, **layout.folders()}.items():
        path = host.path(folder)
        if not path.is_dir():
            fail(Code.DISK_MISSING, f"{folder} does not exist")
        if path.stat().st_mode & 0o7777 != mode:
            fail(Code.DISK_MISSING, f"{folder} has mode {path.stat().st_mode & 0o7777:o}, not {mode:o}")
    prove_space(host, layout.place)
    prove_space(host, "/", least=LEAST_FREE_ON_ROOT)
    prove_writable(host, layout.scratch)


STEP = Step(
    name="disks",
    summary="containers, caches and scratch are on one disk with free space",
    roles=EVERY_ROLE,
    apply=_apply,
    verify=_verify,
    timeout=600,
    retries=1,
)
