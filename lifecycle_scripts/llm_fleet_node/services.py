"""Starts and checks the node's services with systemd."""

from __future__ import annotations

from llm_fleet_node.host import Host


def is_active(host: Host, unit: str) -> bool:
    """Return whether `unit` is active."""
    return host.succeeds("systemctl", "is-active", "--quiet", unit)


def run_unit(host: Host, unit: str) -> None:
    """Enable and start `unit`. Raises `CommandFailed` if it does not start."""
    if not host.succeeds("systemctl", "is-enabled", "--quiet", unit):
        # Skips the check for the unit's old init script, which takes a quarter of a second.
        host.run("systemctl", "enable", "--quiet", unit, env={"SYSTEMCTL_SKIP_SYSV": "1"}, changes=f"enabled {unit}")
    if not is_active(host, unit):
        host.run("systemctl", "start", unit, changes=f"started {unit}")


def needs_reload(host: Host, *units: str) -> bool:
    """Return whether a file of one of `units` has changed since systemd read it."""
    return "NeedDaemonReload=yes" in host.run("systemctl", "show", "--property=NeedDaemonReload", *units)


def reload_units(host: Host) -> None:
    """Reload systemd's unit files after one was written."""
    host.run("systemctl", "daemon-reload")
