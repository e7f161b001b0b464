"""Lustre over EFA, set up as in the FSx documentation.

Source: FSx for Lustre User Guide, "Configuring EFA clients"; not tested on an instance with EFA.
assumption: lnet-over-efa-after-the-platforms-mount
assumption: lnet-efa-interfaces-chosen
assumption: lnet-efa-with-default-cpu-partitions

Nothing here fails a node: Lustre also works over TCP, but slower. The step `lustre_efa` checks the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from llm_fleet_node.devices.efa import interfaces
from llm_fleet_node.downloading.system import os_release
from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.manifest_parts import EfaSystem
from llm_fleet_node.mounts.of_group import mounts_of
from llm_fleet_node.mounts.table import mounted, mounted_at
from llm_fleet_node.node import Node
from llm_fleet_node.services import reload_units, run_unit

UNIT = "llm-fleet-lnet.service"


_SECONDS = 90.0
_FEW = 2
"""EFA interfaces that FSx's script uses on a type with several network cards that is not in its table."""


def why_tcp(node: Node) -> Optional[str]:
    """Return why Lustre uses TCP on this node; `None` if it should use EFA."""
    kinds = [node.instance_type] if node.instance_type else list(node.group.instance_types)
    if kinds and all(kind.lustre_efa_interfaces == 0 for kind in kinds):
        names = " or ".join(kind.name for kind in kinds)
        return f"{names} has no EFA, or FSx for Lustre supports only TCP for it"
    unsupported = _why_not_this_system(node)
    if unsupported:
        return unsupported
    kind = node.instance_type
    if interfaces(node.host) or (kind and (kind.lustre_efa_interfaces or kind.efa_interfaces)):
        return None
    return "the node has no EFA interface"


def _why_not_this_system(node: Node) -> Optional[str]:
    """Return why FSx does not serve this operating system over EFA; `None` if it does, or if unknown.

    Source: FSx for Lustre User Guide, "Configuring EFA clients": the systems are in the catalog.
    """
    systems = [system for mount in mounts_of(node, "lustre") for system in mount.efa_systems]
    release, kernel = os_release(node.host), (node.host.read("/proc/sys/kernel/osrelease") or "").strip()
    if not systems or "ID" not in release or any(_is_served(release, kernel, system) for system in systems):
        return None
    names = [f"{one.id} {one.version}" + (f" with kernel {one.kernel}" if one.kernel else "") for one in systems]
    this = release.get("PRETTY_NAME", release["ID"])
    return f"{this} with kernel {kernel}: FSx for Lustre supports EFA only for {', '.join(names)}, or newer"


def _is_served(release: dict[str, str], kernel: str, system: EfaSystem) -> bool:
    if release["ID"] != system.id or _numbers(release.get("VERSION_ID", "")) < _numbers(system.version):
        return False
    return not system.kernel or not kernel or _numbers(kernel) >= _numbers(system.kernel)


def _numbers(version: str) -> list[int]:
    """Return the leading numbers of `version`, e.g. `[6, 8, 0]` for `6.8.0-1021-aws`."""
    return [int(number) for number in version.partition("-")[0].split(".") if number.isdecimal()]


def set_up(node: Node, paths: Sequence[str]) -> None:
    """Make LNet use EFA before the file systems at `paths` are mounted, now and at each boot.

    Mounts of the platform over TCP are unmounted if they are not in use, and must be mounted again. Nothing is done if
    LNet already uses EFA. Obstacles are logged.
    """
    host = node.host
    devices = chosen(node)
    if not devices or show_efa(host):
        return
    for path in reversed(paths):
        if mounted_at(host, path) is not None and not _unmount(node, path):
            return
    others = [there.path for there in mounted(host) if there.kind == "lustre"]
    if others:
        node.say(f"LNet stays on TCP: Lustre is mounted at {', '.join(others)}, and LNet is not changed while it is")
        return
    _configure(node, devices)


def chosen(node: Node) -> list[str]:
    """Return the EFA interfaces of this node for LNet."""
    return _chosen(interfaces(node.host), node.instance_type.lustre_efa_interfaces if node.instance_type else None)


def _chosen(names: Sequence[str], count: Optional[int]) -> list[str]:
    """Return the EFA interfaces for LNet from the sorted list; `count`: how many, `None` if unknown.

    As in FSx's script: two are the first and the last, more are spread evenly, e.g. every fourth of the 32 of a
    p5.48xlarge, one on each PCI bus.
    """
    wanted = min(_FEW if count is None else count, len(names))
    if wanted == _FEW:
        return [names[0], names[-1]]
    return list(names[:: len(names) // wanted][:wanted]) if wanted else []


def _unmount(node: Node, path: str) -> bool:
    try:
        node.host.run("umount", path, timeout=_SECONDS, changes=f"unmounted {path}, which was mounted over TCP")
    except CommandFailed as error:
        node.say(f"{path} stays on TCP, because it is mounted and in use: {error.output.strip()}")
        return False
    return True


def _configure(node: Node, devices: Sequence[str]) -> None:
    host = node.host
    interface = _default_interface(host)
    if interface is None:
        node.say("LNet stays on TCP: without a default route its interface is unknown")
        return
    _unload(node)
    host.write(f"/etc/systemd/system/{UNIT}", _unit(host, devices, interface))
    reload_units(host)  # also after a run was killed here
    try:
        run_unit(host, UNIT)
    except CommandFailed as error:
        node.say(f"LNet could not be set up over {', '.join(devices)} (see `journalctl -u {UNIT}`): {error}")


def _unload(node: Node) -> None:
    """Unload Lustre's modules if they are loaded, so that the setup loads them with its options.

    Options of a loaded module do not change. AWS's setup of ParallelCluster nodes unloads them first: an AMI may load
    LNet at boot, which then uses only two interfaces.
    assumption: lnet-over-efa-after-the-platforms-mount
    """
    host = node.host
    if not host.path("/sys/module/lnet").exists():
        return
    host.succeeds("lnetctl", "lnet", "unconfigure")
    try:
        host.run("lustre_rmmod", timeout=_SECONDS, changes="unloaded Lustre's modules")
    except CommandFailed as error:
        node.say(f"Lustre's modules stay loaded with their current options: {error.output.strip()}")


def _unit(host: Host, devices: Sequence[str], interface: str) -> str:
    modprobe, lnetctl = host.which("modprobe") or "/sbin/modprobe", host.which("lnetctl") or "/usr/sbin/lnetctl"
    commands = [
        f"{modprobe} lnet",
        f"{modprobe} kefalnd ipif_name={interface}",
        f"{modprobe} ksocklnd",
        f"{lnetctl} lnet configure",
        f"-{lnetctl} net del --net tcp",
        f"{lnetctl} net add --net tcp --if {interface}",
        *(f"{lnetctl} net add --net efa --if {device} --peer-credits 32" for device in devices),
        f"{lnetctl} set discovery 1",
        f"{lnetctl} udsp add --src efa --priority 0",
        f"{modprobe} lustre",
    ]
    return "\n".join(
        [
            "[Unit]",
            "Description=Lustre's network over EFA (llm-fleet)",
            "Wants=network-online.target",
            "After=network-online.target",
            "Before=remote-fs-pre.target",
            "",
            "[Service]",
            "Type=oneshot",
            "RemainAfterExit=yes",
            *(f"ExecStart={command}" for command in commands),
            "",
            "[Install]",
            "WantedBy=remote-fs-pre.target multi-user.target",
            "",
        ]
    )


def _default_interface(host: Host) -> Optional[str]:
    for line in (host.read("/proc/net/route") or "").splitlines()[1:]:
        words = line.split()
        if words[1] == "00000000":
            return words[0]
    return None


def show_efa(host: Host) -> str:
    """Return LNet's information about its EFA network; empty if it has none."""
    try:
        reported = host.run("lnetctl", "net", "show", "-v", "--net", "efa")
    except CommandFailed:
        return ""
    return reported if "efa" in reported else ""
