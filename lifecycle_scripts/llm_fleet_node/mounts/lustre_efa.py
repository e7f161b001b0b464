"""Lustre over EFA, set up as FSx asks for.

Source: FSx for Lustre User Guide, "Configuring EFA clients"; not tried on an instance with EFA by us.
"""

from __future__ import annotations

from llm_fleet_node.devices.efa import interfaces
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.mounts.table import mounted
from llm_fleet_node.node import Node
from llm_fleet_node.services import reload_units, run_unit

UNIT = "llm-fleet-lnet.service"


def expects_efa(node: Node) -> bool:
    """Return whether this node has, or should have, EFA."""
    kind = node.instance_type
    return bool(interfaces(node.host)) or bool(kind and kind.efa_interfaces)


def configure(host: Host) -> None:
    """Make LNet use every EFA device, now and at each boot before Lustre is mounted.

    Nothing is done where the image has done it, nor over a mounted Lustre, whose network cannot be changed.
    """
    devices = interfaces(host)
    if not devices or any(there.kind == "lustre" for there in mounted(host)) or show_efa(host):
        return
    host.write(f"/etc/systemd/system/{UNIT}", _unit(host, devices))
    reload_units(host)  # also after a run that was killed here
    try:
        run_unit(host, UNIT)
    except CommandFailed as error:
        fail(
            Code.LUSTRE_TCP, f"LNet could not be set up over {', '.join(devices)} (see `journalctl -u {UNIT}`): {error}"
        )


def _unit(host: Host, devices: list[str]) -> str:
    interface = _default_interface(host)
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


def _default_interface(host: Host) -> str:
    for line in (host.read("/proc/net/route") or "").splitlines()[1:]:
        words = line.split()
        if words[1] == "00000000":
            return words[0]
    fail(Code.LUSTRE_TCP, "there is no default route, so LNet cannot be told its interface")


def show_efa(host: Host) -> str:
    """Return what LNet tells of its EFA network; empty when it has none."""
    try:
        told = host.run("lnetctl", "net", "show", "-v", "--net", "efa")
    except CommandFailed:
        return ""
    return told if "efa" in told else ""
