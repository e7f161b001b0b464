"""Starts and watches the node's services by systemd."""

from __future__ import annotations

from llm_fleet_node.host import Host


def is_active(host: Host, unit: str) -> bool:
    """Return whether `unit` runs."""
    return host.succeeds("systemctl", "is-active", "--quiet", unit)


def run_unit(host: Host, unit: str) -> None:
    """Make sure that `unit` runs, now and after a reboot. Raises `CommandFailed` when it does not start."""
    if not host.succeeds("systemctl", "is-enabled", "--quiet", unit):
        # Not for the unit's old init script as well: asking for that takes a quarter of a second, and nothing reads it.
        host.run("systemctl", "enable", "--quiet", unit, env={"SYSTEMCTL_SKIP_SYSV": "1"}, changes=f"enabled {unit}")
    if not is_active(host, unit):
        host.run("systemctl", "start", unit, changes=f"started {unit}")


def needs_reload(host: Host, *units: str) -> bool:
    """Return whether systemd has read an older file of one of `units` than there is."""
    return "NeedDaemonReload=yes" in host.run("systemctl", "show", "--property=NeedDaemonReload", *units)


def reload_units(host: Host) -> None:
    """Make systemd read its unit files anew, after one was written."""
    host.run("systemctl", "daemon-reload")
